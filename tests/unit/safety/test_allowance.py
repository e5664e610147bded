"""The one place where every breaker is asked before a call of a model."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from domain.config.limits import Breakers, ErrorRateBreaker, IterationBreaker, TimeBreaker
from domain.money import MICRO, NO_CEILINGS, Ceilings, Limits, Totals
from domain.runs.run import Phase
from domain.verdicts import BreakerState
from safety.breakers import CallResult, Circuit, RunTransition
from safety.call_admission import CallAdmission, CallFacts, admit_call

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)
CONFIGURED = Breakers(
    iteration=IterationBreaker(review=3), time=TimeBreaker(review=10), error_rate=ErrorRateBreaker(min_events=5)
)


def facts(*, calls: int = 0, granted: int = 0, minutes: int = 0, spent: int = 0, failed: int = 0) -> CallFacts:
    return CallFacts(
        phase=Phase.review,
        totals=Totals(phase=spent, run=spent, day=spent, installation=spent),
        calls=calls,
        granted=granted,
        moves=[RunTransition(NOW - timedelta(minutes=minutes), running=True, phase=Phase.review)] if minutes else [],
        recent=[CallResult(NOW - timedelta(seconds=n + 1), failed=True) for n in range(failed)],
        circuit=Circuit(),
        caller="run/step",
    )


def decide_allowance(known: CallFacts, ceilings: Ceilings = NO_CEILINGS) -> CallAdmission:
    return admit_call(1000, known, Limits(), ceilings, CONFIGURED, NOW)


@pytest.mark.parametrize(
    ("known", "breaker", "gate"),
    [
        (facts(calls=3), "iteration", "guard"),
        (facts(calls=5, granted=2), "iteration", "guard"),
        (facts(minutes=10), "time", "guard"),
        (facts(spent=int(1.6 * MICRO)), "cost", "cost_overrun"),
        (facts(failed=5), "error_rate", None),
        (facts(calls=3, minutes=10, spent=2 * MICRO, failed=5), "iteration", "guard"),  # in their order
    ],
)
def test_open_breaker_refuses(known: CallFacts, breaker: str, gate: str | None) -> None:
    refusal = decide_allowance(known).refusal
    assert refusal is not None
    assert (refusal.check.name, refusal.gate) == (breaker, gate)
    assert refusal.advice


@pytest.mark.parametrize(
    "known", [facts(), facts(calls=2), facts(calls=4, granted=2), facts(minutes=9), facts(spent=MICRO), facts(failed=4)]
)
def test_what_is_within_every_limit_is_allowed(known: CallFacts) -> None:
    assert decide_allowance(known).refusal is None


def test_only_the_time_of_the_phase_counts_against_it() -> None:
    """And all of it against the run."""
    began, entered = NOW - timedelta(minutes=60), NOW - timedelta(minutes=9)
    moves = [
        RunTransition(began, running=True, phase=Phase.planning),
        RunTransition(entered, running=True, phase=Phase.review),
    ]
    assert decide_allowance(replace(facts(), moves=moves)).refusal is None
    long = [RunTransition(began - timedelta(minutes=60), running=True, phase=Phase.planning), moves[-1]]
    refusal = decide_allowance(replace(facts(), moves=long)).refusal
    assert refusal is not None
    assert refusal.check.reason.code == "time.total"


def test_warnings_come_before_the_limit() -> None:
    assert decide_allowance(facts(calls=2, minutes=9)).warnings == ("iteration", "time")


@pytest.mark.parametrize(
    ("known", "ceilings"),
    [(facts(calls=3, granted=50), Ceilings(calls=3)), (facts(minutes=10, granted=50), Ceilings(minutes=120))],
)
def test_no_slice_passes_the_operators_ceiling(known: CallFacts, ceilings: Ceilings) -> None:
    refusal = decide_allowance(known, ceilings).refusal
    assert refusal is not None
    assert refusal.gate is None  # nobody is asked for what nobody can grant
    assert "operator" in refusal.advice
    assert decide_allowance(known).refusal is None


def test_a_call_that_something_else_refuses_is_not_the_trial() -> None:
    opened = Circuit(state=BreakerState.open, since=NOW - timedelta(minutes=9), until=NOW - timedelta(minutes=4))
    known = facts(calls=3)
    stopped = admit_call(1000, replace(known, circuit=opened), Limits(), NO_CEILINGS, CONFIGURED, NOW)
    assert stopped.refusal is not None
    assert stopped.circuit == opened
    let_through = admit_call(1000, replace(facts(), circuit=opened), Limits(), NO_CEILINGS, CONFIGURED, NOW)
    assert let_through.refusal is None
    assert let_through.circuit.state is BreakerState.half_open
