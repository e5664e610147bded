"""What a deployment asks: who may answer, about what exactly, until when, and what an answer does."""

from datetime import timedelta
from typing import Any

import pytest

from domain.config.configuration import Configuration
from domain.config.presets import build
from domain.deployments.deployment import Cause
from domain.gates import GateRequest
from domain.verdicts import Reason
from safety.allowed_actions import Action, ActionFacts, allows
from safety.gate_requests import (
    HOLD,
    PRODUCTION,
    STAGING,
    explain_cause,
    request_deployment,
    request_hold,
)

SHA = "a" * 40
WHY = Reason(code="deployment.merge", text="carol merged it")


def _ask_production(**more: str) -> GateRequest:
    about = {"environment": "production", "sha": SHA, "run_id": "01A"} | more
    return request_deployment(PRODUCTION, Configuration(), **about, reason=WHY, shows="shown")


def _ask_staging() -> GateRequest:
    allowed = allows(0, Action.staging_deploy, ActionFacts(risk=None, touches_protected=True))
    return request_deployment(STAGING, Configuration(), "staging", SHA, "01A", allowed.reason, "shown")


def _ask_hold(*, is_production: bool, subject: tuple[str, ...] = ("01A", "step 5"), **gates: Any) -> GateRequest:
    configuration = build({"gates": gates})
    return request_hold(configuration, "staging", subject, WHY, "shown", is_production=is_production)


def test_production_asks_a_maintainer_who_did_not_ask_for_it() -> None:
    asked = _ask_production()
    assert (asked.name, asked.role, asked.timeout) == (PRODUCTION, "maintain", timedelta(hours=1))
    assert (asked.not_requester, asked.not_author) == (True, False)
    assert asked.prompt == "Deploy aaaaaaa to production?"
    assert asked.reasons == (WHY,)
    assert asked.shows == "shown"


def test_staging_asks_whoever_may_write_and_says_which_level_lacks() -> None:
    asked = _ask_staging()
    assert (asked.name, asked.role, asked.timeout) == (STAGING, "write", timedelta(hours=24))
    assert (asked.not_requester, asked.not_author) == (False, False)
    assert asked.reasons[0].text


@pytest.mark.parametrize(("is_production", "role"), [(True, "maintain"), (False, "write")])
def test_a_hold_asks_who_could_deploy_there(is_production: bool, role: str) -> None:
    asked = _ask_hold(is_production=is_production)
    assert (asked.name, asked.role, asked.timeout) == (HOLD, role, timedelta(hours=1))
    assert [option.effect for option in asked.options] == [
        "it goes on with the next step",
        "it is rolled back; so it is if nobody answers",
    ]


def test_the_configuration_may_give_more_time() -> None:
    asked = _ask_hold(is_production=False, deploy_hold={"timeout": "2h"})
    assert asked.timeout == timedelta(hours=2)


def test_an_answer_counts_for_one_commit_in_one_environment_of_one_deployment() -> None:
    asked = _ask_production().subject
    assert asked == _ask_production().subject
    assert asked != _ask_production(sha="b" * 40).subject
    assert asked != _ask_production(environment="production-eu").subject
    assert asked != _ask_production(run_id="01B").subject


def test_an_answer_to_a_hold_counts_for_one_occasion() -> None:
    first, again, later = (
        _ask_hold(is_production=False, subject=("01A", occasion)).subject for occasion in ("step 5", "step 5", "wish 0")
    )
    assert first == again
    assert first != later


@pytest.mark.parametrize(
    "asked", [_ask_production(), _ask_staging(), _ask_hold(is_production=False)], ids=lambda asked: asked.name
)
def test_every_answer_has_its_command(asked: GateRequest) -> None:
    assert [option.command for option in asked.options] == [
        f"/forge approve {asked.name}",
        f"/forge reject {asked.name} reason",
    ]


@pytest.mark.parametrize(
    ("cause", "text"),
    [
        (Cause.merge, "carol merged it"),
        (Cause.command, "carol asked for it"),
        (Cause.rollback, "carol asked for what was there before"),
    ],
)
def test_every_cause_says_who(cause: Cause, text: str) -> None:
    assert explain_cause(cause, "carol") == Reason(code=f"deployment.{cause.value}", text=text)
