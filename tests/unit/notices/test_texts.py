"""What is told of each event, and that nothing in it acts where it is read."""

import json
from dataclasses import replace
from typing import Any, get_args

import pytest

from domain.config.sections import EventPattern, OwnEventPattern
from domain.events import Event, EventType
from domain.notices import NOTICED, NoticeFormat, NoticeTarget, NoticeType
from domain.runs.run import RepositoryRef, Trigger
from memory.gates import parse_gate
from messages.notices import build_notice, build_test, defuse, render
from tests.rows import NOON, active_run, gate_row

RUN = active_run("01J00000000000000000ABCDEF")
PAGE = "https://github.com/octo-org/shop"
CASES: list[tuple[EventType, dict[str, Any], NoticeType | None]] = [
    (EventType.breaker_tripped, {"name": "cost", "code": "cost.day", "text": "spent"}, NoticeType.budget_reached),
    (EventType.breaker_tripped, {"name": "error_rate", "provider": "anthropic"}, NoticeType.model_failing),
    (EventType.ladder_changed, {"before": 1, "level": 2, "text": "met"}, NoticeType.level_changed),
    (EventType.ladder_changed, {"before": 2, "level": 1, "text": "broken"}, NoticeType.level_changed),
    (EventType.ladder_changed, {"before": 2, "level": 2}, None),
    (EventType.run_failed, {"reason": "error", "detail": "It broke."}, NoticeType.run_failed),
    (EventType.run_failed, {"reason": "gate_rejected"}, None),
    (EventType.deployment_moved, {"state": "failed", "environment": "prod"}, NoticeType.deployment_failed),
    (EventType.deployment_moved, {"state": "rolled_back", "environment": "prod"}, NoticeType.deployment_rolled_back),
    (EventType.deployment_moved, {"state": "healthy", "environment": "prod"}, None),
    (EventType.delivery_failed, {"delivery": "g", "event": "push", "why": "no"}, NoticeType.delivery_failed),
    (EventType.halted, {"why": "prices", "by": "root"}, NoticeType.forge_halted),
    (EventType.resumed, {"by": "root"}, NoticeType.forge_resumed),
]


def event(kind: EventType, **facts: Any) -> Event:
    return Event(id="01J00000000000000000EVENTS", trace=RUN.id, time=NOON, source="s", type=kind, payload=facts)


@pytest.mark.parametrize(("kind", "facts", "expected"), CASES)
def test_what_is_told(kind: EventType, facts: dict[str, Any], expected: NoticeType | None) -> None:
    told = build_notice(event(kind, **facts), RUN.repository, RUN, None, PAGE)
    assert (None if told is None else told.type) is expected
    if told is not None:
        assert told.title
        assert told.text
        assert told.url == f"{PAGE}/pull/1"
        assert "octo-org/shop#1" in told.title


def test_a_gate_says_who_may_not_decide_it() -> None:
    """Whoever is told that anyone may decide would press a button in vain."""
    gate = parse_gate(gate_row("01J00000000000000000GATES1", RUN.id, state="waiting", decision=None))
    told = build_notice(event(EventType.gate_requested), RUN.repository, RUN, gate, PAGE)
    assert told is not None
    who = "anyone with the role maintain or above, but the author of the change only if nobody else has it."
    assert f"{who} Without an answer by" in told.text


def test_an_event_without_any_facts_is_told_or_not_and_breaks_nothing() -> None:
    for kind in NOTICED:
        build_notice(event(kind), None, None, None, "")


def test_every_type_can_be_chosen_and_no_other() -> None:
    types = {kind.value for kind in NoticeType if kind is not NoticeType.test}
    chosen = {*get_args(EventPattern), *get_args(OwnEventPattern)}
    assert {each for each in chosen if not each.endswith("*")} == types
    assert {each.partition("*")[0] for each in chosen if each.endswith("*")} == {"", "gate.", "deployment.", "forge."}


def test_limits_that_many_runs_share_are_told_once_a_day() -> None:
    def cause(code: str, run: str) -> str:
        told = event(EventType.breaker_tripped, name="cost", code=code, text="spent").model_copy(update={"trace": run})
        notice = build_notice(told, RUN.repository, RUN, None, PAGE)
        assert notice is not None
        return notice.cause

    assert cause("cost.day", "a") == cause("cost.day", "b")
    assert cause("cost.run", "a") != cause("cost.run", "b")


def test_a_deployment_leads_to_its_commit() -> None:
    run = RUN.model_copy(update={"trigger": Trigger.deployment})
    told = build_notice(
        event(EventType.deployment_moved, state="failed", environment="p"), run.repository, run, None, PAGE
    )
    assert told is not None
    assert told.url == f"{PAGE}/commit/a"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("@everyone <!here>", "＠everyone ‹!here›"),
        ("see https://evil.example", "see https: //evil.example"),
        ("www.evil.example mailto:a@b", "www .evil.example mailto: a＠b"),
        ("v1.2 of app.py: 10:30", "v1.2 of app.py: 10:30"),
    ],
)
def test_nothing_acts(text: str, shown: str) -> None:
    assert defuse(text) == shown


@pytest.mark.parametrize("form", list(NoticeFormat))
def test_every_format_is_json_whatever_is_in_it(form: NoticeFormat) -> None:
    hostile = f"{'x' * 5000} \ud800 \x00 \u202e \n | `"
    told = build_notice(event(EventType.run_failed, detail=hostile), RUN.repository, RUN, None, PAGE)
    assert told is not None
    body = render(told, form)
    assert json.loads(body)
    assert len(body) < 28_000  # what Teams takes
    assert "\\u202e" not in body.decode()


def test_what_a_target_wants() -> None:
    target = NoticeTarget("ops", "ops", "https://a", b"", repositories=("acme/*",), events=("gate.*",))
    everything = NoticeTarget("all", "all", "https://a", b"")
    shop = RepositoryRef(installation_id=1, id=1, owner="Acme", name="shop")
    opened = replace(build_test(NOON, "ops"), type=NoticeType.gate_opened, repository=shop)
    assert target.wants(opened)
    assert not target.wants(replace(opened, type=NoticeType.run_failed))
    for elsewhere in (None, shop.model_copy(update={"owner": "acme-corp"})):
        assert not target.wants(replace(opened, repository=elsewhere))
        assert everything.wants(replace(opened, repository=elsewhere))
