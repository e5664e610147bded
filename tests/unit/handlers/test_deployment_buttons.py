"""The buttons on a deployment's check: what each asks for, and whose are left alone."""

from typing import Any

import pytest

from domain.commands import COMMAND, Ignored, Sender, SteerDeployment
from domain.deployments.deployment import Wish
from domain.runs.run import RepositoryRef
from handlers import translate
from tests.unit.handlers.payloads import ANN, APP_ID, FORGE, HEAD

RUN = "01J00000000000000000000001"


def _press(button: str | None, action: str = "requested_action", sender: dict[str, Any] = ANN, **check: Any) -> Any:
    requested = {} if button is None else {"requested_action": {"identifier": button}}
    payload = {
        "action": action,
        "repository": {"id": 99, "name": "app", "owner": {"id": 1, "login": "acme", "type": "Organization"}},
        "installation": {"id": 7},
        "sender": sender,
        "check_run": {"head_sha": HEAD, "app": {"id": APP_ID}, "external_id": f"deployment:{RUN}", **check},
        **requested,
    }
    return translate("check_run", payload, APP_ID)


@pytest.mark.parametrize("wish", Wish)
def test_a_button_asks_for_what_it_says(wish: Wish) -> None:
    asked = _press(wish.value)
    assert asked == SteerDeployment(
        repository=RepositoryRef(installation_id=7, id=99, owner="acme", name="app"),
        run_id=RUN,
        wish=wish,
        sender=Sender(id=5, login="ann"),
    )
    assert COMMAND.validate_json(asked.model_dump_json()) == asked


@pytest.mark.parametrize(
    ("button", "more", "reason"),
    [
        ("hold", {"app": {"id": APP_ID + 1}}, "check_of_another_app"),
        ("hold", {"sender": FORGE}, "sent_by_an_app"),
        ("approve", {}, "unknown_button"),
        ("", {}, "unknown_button"),
        ("Hold", {}, "unknown_button"),
        (None, {}, "incomplete_payload"),
        (None, {"action": "rerequested"}, "unknown_button"),
        ("hold", {"action": "completed"}, "action_not_used"),
    ],
)
def test_nothing_else_steers_a_deployment(button: str | None, more: dict[str, Any], reason: str) -> None:
    assert _press(button, **more) == Ignored(reason=reason)


@pytest.mark.parametrize("external_id", [None, "", "deployment:", RUN])
def test_a_check_of_no_deployment_has_no_such_buttons(external_id: str | None) -> None:
    assert _press("hold", external_id=external_id) == Ignored(reason="unknown_button")
