"""What becomes of the events of an issue: a label is handed over, and a closed one ends its run, whoever closed it."""

from typing import Any

import pytest

from domain.commands import COMMAND, EndIssue, Ignored, LabelledIssue
from handlers import translate
from tests.unit.handlers.examples import EXAMPLES, WRONG
from tests.unit.handlers.payloads import ANN, APP_ID, FORGE

EXAMPLE = EXAMPLES["issues opened"]


def _issues(action: str, **more: object) -> Any:
    """GitHub's example; a closed issue differs from an open one in its state and the moment it was closed."""
    closed = {"state": "closed", "state_reason": "completed", "closed_at": "2026-03-01T12:00:00Z"}
    issue = {**EXAMPLE["issue"], **(closed if action == "closed" else {})}
    return translate("issues", {**EXAMPLE, "issue": issue, "action": action, **more}, APP_ID)


def test_a_closed_issue_ends_its_run() -> None:
    command = _issues("closed")
    assert isinstance(command, EndIssue)
    assert command.number == EXAMPLE["issue"]["number"]
    assert command.repository.full_name == EXAMPLE["repository"]["full_name"]
    assert (command.repository.id, command.repository.installation_id) == (EXAMPLE["repository"]["id"], 5)
    assert COMMAND.validate_python(command.model_dump(mode="json")) == command


@pytest.mark.parametrize(("sender", "is_app"), [(ANN, False), (FORGE, True)])
def test_whoever_closes_it(sender: dict[str, Any], is_app: bool) -> None:
    command = _issues("closed", sender=sender)
    assert isinstance(command, EndIssue)
    assert (command.sender.id, command.sender.is_app) == (sender["id"], is_app)


@pytest.mark.parametrize(
    "action",
    ["opened", "unlabeled", "edited", "reopened", "assigned", "deleted", "transferred", ""],
)
def test_nothing_else_that_happens_to_an_issue_is_used_yet(action: str) -> None:
    assert _issues(action) == Ignored(reason="action_not_used")


@pytest.mark.parametrize("name", ["forge", "Forge", "good first issue", "割引 :tada:"])
def test_every_label_is_handed_over(name: str) -> None:
    command = _issues("labeled", sender=ANN, label={"name": name})
    assert isinstance(command, LabelledIssue)
    assert (command.label, command.number, command.sender.id) == (name, EXAMPLE["issue"]["number"], ANN["id"])
    assert command.repository.full_name == EXAMPLE["repository"]["full_name"]
    assert COMMAND.validate_python(command.model_dump(mode="json")) == command


def test_a_label_of_an_app_asks_for_nothing() -> None:
    assert _issues("labeled", sender=FORGE, label={"name": "forge"}) == Ignored(reason="sent_by_an_app")


@pytest.mark.parametrize("label", [*WRONG, {}, {"name": ""}, {"name": None}, {"name": "x" * 201}])
def test_a_label_without_a_name_is_none(label: object) -> None:
    assert _issues("labeled", sender=ANN, label=label) == Ignored(reason="incomplete_payload")


@pytest.mark.parametrize("part", ["issue", "repository", "installation", "sender"])
def test_no_command_is_made_of_half_a_payload(part: str) -> None:
    for value in WRONG:
        assert _issues("closed", **{part: value}) == Ignored(reason="incomplete_payload"), value
    assert _issues("closed", issue={"number": True}) == Ignored(reason="incomplete_payload")
    assert _issues("closed", issue={"number": 0}) == Ignored(reason="incomplete_payload")
