"""When Forge looks back on a run, and when it does not."""

from datetime import UTC, datetime

import pytest

from domain.events import Event, EventType
from domain.runs.run import Phase, ReasonCode, RepositoryRef, Run, RunState, Trigger
from domain.value import new_id
from safety.learning_screening import Moment, ReflectionFacts, find_moments, find_obstacle, most_kept

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


def event(kind: EventType, phase: Phase | None = None, **payload: object) -> Event:
    return Event(id=new_id(), trace="r", time=NOON, source="test", type=kind, phase=phase, payload=payload)


def run(trigger: Trigger = Trigger.pull_request, reason: ReasonCode = ReasonCode.none) -> Run:
    repository = RepositoryRef(installation_id=1, id=7, owner="octo-org", name="shop")
    state = RunState.cancelled if reason is ReasonCode.superseded else RunState.completed
    return Run(
        id="r",
        repository=repository,
        number=1,
        head_sha="a" * 40,
        base_sha="b" * 40,
        trigger=trigger,
        attempt=1,
        fence=1,
        state=state,
        reason=reason,
    )


def bounce(phase: Phase = Phase.testing) -> Event:
    return event(EventType.phase_bounced, phase)


def calls(count: int, failed: int, phase: Phase = Phase.implementation) -> list[Event]:
    return [event(EventType.tool_executed, phase, problem="no" if each < failed else None) for each in range(count)]


DISMISSED = event(EventType.feedback_dismissed, rule="ruff/E501")
REJECTED = event(EventType.gate_rejected, name="security_findings")


@pytest.mark.parametrize(
    ("events", "reached"),
    [
        ([], set[Moment]()),
        ([bounce()], set[Moment]()),
        ([bounce(), bounce(Phase.review)], set[Moment]()),
        ([bounce(), bounce()], {Moment.bounced}),
        ([event(EventType.budget_half)], {Moment.cost}),
        (calls(10, 1), set[Moment]()),
        (calls(10, 2), {Moment.errors}),
        (calls(9, 9), set[Moment]()),  # too few to say anything
        ([*calls(6, 1), *calls(6, 1, Phase.review)], set[Moment]()),
        ([DISMISSED], {Moment.overridden}),
        ([event(EventType.feedback_missed)], {Moment.overridden}),
        ([REJECTED], {Moment.overridden}),
        ([event(EventType.gate_rejected, name="cost_overrun")], set[Moment]()),  # it is about money
        ([event(EventType.feedback_decided, approved=False)], {Moment.overridden}),
        ([event(EventType.feedback_decided, approved=False, own=True)], set[Moment]()),
        ([event(EventType.feedback_decided, approved=True)], set[Moment]()),
        ([event(EventType.ladder_stopped)], {Moment.overridden}),
    ],
)
def test_moments(events: list[Event], reached: set[Moment]) -> None:
    assert find_moments(events) == reached


def why_not(run_: Run, *events: Event, is_enabled: bool = True, is_trusted: bool = True) -> str | None:
    reason = find_obstacle(ReflectionFacts(run_, events, is_enabled, is_trusted))
    return None if reason is None else reason.code


DONE = event(EventType.run_completed, calls=3)


@pytest.mark.parametrize(
    ("run_", "events", "why"),
    [
        (run(), [DONE], "reflection.nothing"),
        (run(), [event(EventType.finding_detected), DONE], "reflection.nothing"),
        (run(), [event(EventType.gate_approved, name="human_review", words="")], "reflection.nothing"),
        (run(), [event(EventType.gate_approved, name="human_review", words="log it")], None),
        (run(), [REJECTED], None),
        (run(), [DISMISSED], None),
        (run(), [event(EventType.guard_tripped, name="errors")], None),
        (run(), [event(EventType.run_failed, reason="stuck")], None),
        (run(), [event(EventType.run_failed, reason="commit_gone")], "reflection.nothing"),
        (run(), [DISMISSED, event(EventType.reflected), DONE], "reflection.nothing"),  # that was looked back on
        (run(Trigger.issue), [DONE], None),
        (run(Trigger.issue), [event(EventType.run_completed, calls=0)], "reflection.nothing"),
        (run(Trigger.issue, ReasonCode.planned), [DONE], "reflection.nothing"),
        (run(Trigger.issue, ReasonCode.questions), [DONE], "reflection.nothing"),
        (run(Trigger.issue, ReasonCode.planned), [DONE, DISMISSED], None),
        (run(Trigger.issue, ReasonCode.superseded), [bounce()], "reflection.early"),
        (run(Trigger.issue, ReasonCode.excluded), [DONE], "reflection.early"),
    ],
)
def test_when_there_is_a_reflection(run_: Run, events: list[Event], why: str | None) -> None:
    assert why_not(run_, *events) == why


def test_not_where_it_is_switched_off_or_comes_from_outside() -> None:
    assert why_not(run(), DISMISSED, is_enabled=False) == "reflection.off"
    assert why_not(run(), DISMISSED, is_trusted=False) == "reflection.untrusted"


def test_how_many_are_kept() -> None:
    assert most_kept([DONE]) == 1
    assert most_kept([bounce(), bounce()]) == 2
    assert most_kept([DISMISSED]) == 2
