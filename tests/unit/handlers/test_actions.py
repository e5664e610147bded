"""Which ends of workflows make Forge look at their results; played on GitHub's own examples."""

import copy
from typing import Any

import pytest

from domain.commands import COMMAND, ChecksEnded, Ignored
from domain.runs.run import RepositoryRef
from handlers import translate
from tests.unit.handlers.examples import EXAMPLES

ACTIONS = {"id": 15368, "slug": "github-actions"}
APP_ID = 42


def _example(event: str) -> dict[str, Any]:
    return copy.deepcopy(EXAMPLES[f"{event} completed"])


def _suite(**more: Any) -> Any:
    payload = _example("check_suite")
    payload["check_suite"] |= {"app": {**payload["check_suite"]["app"], **ACTIONS}, **more}
    return payload


def _run(**more: Any) -> Any:
    payload = _example("workflow_run")
    payload["workflow_run"] |= {"event": "pull_request", "status": "completed", "conclusion": "failure", **more}
    return payload


PAYLOADS = {"check_suite": _suite, "workflow_run": _run}


@pytest.mark.parametrize("event", PAYLOADS)
def test_a_workflow_that_ended_is_looked_at(event: str) -> None:
    payload = PAYLOADS[event]()
    command = translate(event, payload, APP_ID)
    assert command == ChecksEnded(
        repository=RepositoryRef(
            installation_id=5,
            id=payload["repository"]["id"],
            owner=payload["repository"]["owner"]["login"],
            name=payload["repository"]["name"],
        ),
        head_sha=payload[event]["head_sha"],
    )
    assert COMMAND.validate_json(command.model_dump_json()) == command


@pytest.mark.parametrize("event", PAYLOADS)
def test_it_does_not_matter_who_caused_it(event: str) -> None:
    bot = {"id": 7, "login": "dependabot[bot]", "type": "Bot"}
    assert isinstance(translate(event, {**PAYLOADS[event](), "sender": bot}, APP_ID), ChecksEnded)


@pytest.mark.parametrize("state", ["success", "failure", "error"])
def test_a_status_that_ended_is_looked_at(state: str) -> None:
    payload = {**EXAMPLES["status"], "state": state}
    command = translate("status", payload, APP_ID)
    assert isinstance(command, ChecksEnded)
    assert command.head_sha == payload["sha"]
    assert translate("status", {**payload, "state": "pending"}, APP_ID) == Ignored(reason="status_pending")


def test_our_own_suite_says_nothing() -> None:
    payload = _suite()
    payload["check_suite"]["app"] = {"id": APP_ID, "slug": "forge"}
    assert translate("check_suite", payload, APP_ID) == Ignored(reason="own_suite")


@pytest.mark.parametrize(
    ("event", "counts"),
    [
        ("pull_request", True),
        ("push", True),
        ("pull_request_target", False),  # its head is one of the base branch
        ("schedule", False),
        ("workflow_dispatch", False),
    ],
)
def test_workflows_that_test_a_head(event: str, counts: bool) -> None:
    assert isinstance(translate("workflow_run", _run(event=event), APP_ID), ChecksEnded) is counts


@pytest.mark.parametrize("action", ["requested", "in_progress", "invented", ""])
@pytest.mark.parametrize("event", PAYLOADS)
def test_what_has_not_ended_is_ignored(event: str, action: str) -> None:
    assert translate(event, {**PAYLOADS[event](), "action": action}, APP_ID) == Ignored(reason="action_not_used")


@pytest.mark.parametrize("head", [None, "", "main", "a" * 39, 7, {}])
@pytest.mark.parametrize("event", PAYLOADS)
def test_unknown_shapes_are_ignored(event: str, head: object) -> None:
    incomplete = Ignored(reason="incomplete_payload")
    assert translate(event, PAYLOADS[event](head_sha=head), APP_ID) == incomplete
    assert translate(event, {**PAYLOADS[event](), event: head}, APP_ID) == incomplete
