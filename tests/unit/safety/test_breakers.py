"""The circuit breakers before each call of a model: their limits, warnings, states, and what never happens to them."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from domain.config.limits import ErrorRateBreaker, IterationBreaker, TimeBreaker
from domain.runs.run import Phase
from domain.verdicts import BreakerState, Check
from safety.breakers import (
    CallResult,
    Circuit,
    RunTransition,
    check_error_rate,
    check_iterations,
    check_stagnation,
    check_time,
    mark_progress,
    measure_work,
    settle_call,
)

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
CALLS, TIMES, RATES = IterationBreaker(), TimeBreaker(), ErrorRateBreaker()
CLOSED, OPEN, HALF_OPEN = BreakerState.closed, BreakerState.open, BreakerState.half_open
AT_REST = (CLOSED, False)
WARNS = (CLOSED, True)
TRIPPED = (OPEN, False)


def get_state(check: Check) -> tuple[BreakerState, bool]:
    return check.state, check.warns


@pytest.mark.parametrize(
    ("phase", "calls", "granted", "expected"),
    [
        (Phase.planning, 0, 0, AT_REST),
        (Phase.planning, 14, 0, AT_REST),
        (Phase.planning, 15, 0, WARNS),  # the sixteenth of twenty is about to be made
        (Phase.planning, 19, 0, WARNS),
        (Phase.planning, 20, 0, TRIPPED),
        (Phase.implementation, 9, 0, AT_REST),
        (Phase.implementation, 39, 0, WARNS),
        (Phase.implementation, 49, 0, WARNS),
        (Phase.implementation, 50, 0, TRIPPED),
        (Phase.review, 9, 0, WARNS),
        (Phase.review, 10, 0, TRIPPED),
        (Phase.review, 10, 10, AT_REST),
        (Phase.review, 19, 10, WARNS),
        (Phase.review, 20, 10, TRIPPED),
        (Phase.testing, 5, 0, TRIPPED),
        (Phase.deployment, 1, 0, AT_REST),
        (Phase.deployment, 2, 0, WARNS),
        (Phase.deployment, 3, 0, TRIPPED),
        (Phase.deployment, 4, 0, TRIPPED),
        (Phase.deployment, 2, -5, WARNS),  # nobody is granted less than nothing
    ],
)
def test_iteration(phase: Phase, calls: int, granted: int, expected: tuple[BreakerState, bool]) -> None:
    check = check_iterations(calls, phase, CALLS, granted)
    assert get_state(check) == expected
    assert (check.reason.value, bool(check.suggestion)) == (calls, expected != AT_REST)


def test_iteration_says_what_happened_and_what_to_do() -> None:
    check = check_iterations(10, Phase.review, CALLS, 0)
    assert (check.name, check.reason.code, check.reason.threshold) == ("iteration", "iteration.review", 10)
    assert check.reason.text == "The review phase has made 10 of the 10 model calls it may make."
    assert check.suggestion == (
        "`/forge continue 10it` grants more, `/forge accept` keeps the work so far, `/forge cancel` ends the run; "
        "or raise `breakers.iteration.review` in `.github/forge.yml`."
    )


PHASES = st.sampled_from([phase for phase in Phase if phase.value in IterationBreaker.model_fields])


@given(st.integers(0, 300), st.integers(0, 100), PHASES, st.integers(1, 200), st.floats(0.01, 1))
def test_more_calls_never_untrip_and_none_trips_unwarned(
    calls: int, granted: int, phase: Phase, limit: int, warn: float
) -> None:
    limits = IterationBreaker.model_validate({phase.value: limit, "warn": warn})
    check, after = (check_iterations(made, phase, limits, granted) for made in (calls, calls + 1))
    assert not check.should_break or after.should_break
    assert not after.should_break or check.should_break or check.warns
    assert not check_iterations(calls, phase, limits, granted + calls + 1).should_break
    assert (check.reason.value or 0) >= 0


@pytest.mark.parametrize(
    ("progress", "limit", "expected"),
    [
        ("", 3, AT_REST),
        ("+", 3, AT_REST),
        ("-", 3, AT_REST),
        ("--", 3, WARNS),
        ("---", 3, TRIPPED),
        ("+---", 3, TRIPPED),
        ("---+", 3, AT_REST),
        ("--+--", 3, WARNS),
        ("----", 3, TRIPPED),
        ("-", 2, WARNS),
        ("--", 2, TRIPPED),
    ],
)
def test_stagnation(progress: str, limit: int, expected: tuple[BreakerState, bool]) -> None:
    check = check_stagnation([sign == "+" for sign in progress], IterationBreaker(stagnation=limit))
    assert get_state(check) == expected


def test_stagnation_says_what_happened() -> None:
    check = check_stagnation([True, False, False, False], CALLS)
    assert check.reason.text == "The last 3 model calls brought no progress; it stops at 3 in a row."
    assert check_stagnation([False], CALLS).reason.text.startswith("The last model call brought no progress;")


@given(st.lists(st.booleans()))
def test_idle_calls_never_untrip_and_progress_always_does(progress: list[bool]) -> None:
    if check_stagnation(progress, CALLS).should_break:
        assert check_stagnation([*progress, False], CALLS).should_break
    assert get_state(check_stagnation([*progress, True], CALLS)) == AT_REST


def test_only_what_was_not_seen_before_is_progress() -> None:
    assert mark_progress("abcab") == [True, True, True, False, False]
    assert mark_progress("abaca") == [True, True, False, True, False]
    assert mark_progress("") == []


@given(st.lists(st.sampled_from("abcd")))
def test_who_repeats_itself_stagnates(seen: list[str]) -> None:
    assert not any(mark_progress([*seen, *seen])[len(seen) :])
    assert mark_progress([*seen, "new"])[-1]


def moves(*written: tuple[int, bool]) -> list[RunTransition]:
    return [RunTransition(NOW + minute * MINUTE, running) for minute, running in written]


@pytest.mark.parametrize(
    ("history", "at", "minutes"),
    [
        ([], 60, 0),
        ([(0, True)], 30, 30),
        ([(0, False)], 30, 0),
        ([(0, True), (10, False)], 600, 10),  # a gate held it for hours
        ([(0, True), (10, False), (500, True)], 505, 15),
        ([(0, True), (10, True)], 15, 15),  # taken over by another process
        ([(0, True), (10, False)], 5, 10),  # the clock was set back
        ([(10, True)], 5, 0),
        ([(0, True), (10, False), (2, True)], 4, 12),
    ],
)
def test_worked(history: list[tuple[int, bool]], at: int, minutes: int) -> None:
    assert measure_work(moves(*history), NOW + at * MINUTE) == minutes * MINUTE


def test_worked_in_a_phase() -> None:
    """However often it was entered, without what the run waited."""
    planning, testing = Phase.planning, Phase.testing
    written = [(0, True, planning), (10, True, testing), (15, False, testing), (500, True, testing), (502, True, None)]
    history = [RunTransition(NOW + minute * MINUTE, running, phase) for minute, running, phase in written]
    history += [RunTransition(NOW + 510 * MINUTE, True, testing)]
    at = NOW + 511 * MINUTE
    assert [measure_work(history, at, each) // MINUTE for each in (planning, testing, Phase.review)] == [10, 8, 0]
    assert measure_work(history, at) == 26 * MINUTE


MOVES = st.lists(st.tuples(st.integers(-100, 100), st.booleans()))


@given(MOVES, st.integers(-100, 100), st.integers(0, 100))
def test_work_is_never_negative_and_never_shrinks(history: list[tuple[int, bool]], at: int, later: int) -> None:
    before, after = (measure_work(moves(*history), NOW + minute * MINUTE) for minute in (at, at + later))
    assert timedelta() <= before <= after


@given(MOVES, st.integers(0, 100))
def test_waiting_does_not_count(history: list[tuple[int, bool]], waited: int) -> None:
    stopped = moves(*history, (200, False))
    assert measure_work(stopped, NOW + 200 * MINUTE) == measure_work(stopped, NOW + (200 + waited) * MINUTE)


@pytest.mark.parametrize(
    ("phase", "of_phase", "of_run", "granted", "expected", "code"),
    [
        (Phase.planning, 0, 0, 0, AT_REST, "time.planning"),
        (Phase.planning, 26, 26, 0, AT_REST, "time.planning"),
        (Phase.planning, 27, 27, 0, WARNS, "time.planning"),
        (Phase.planning, 30, 30, 0, TRIPPED, "time.planning"),
        (Phase.implementation, 54, 60, 0, WARNS, "time.implementation"),
        (Phase.implementation, 60, 80, 0, TRIPPED, "time.implementation"),
        (Phase.review, 10, 107, 0, AT_REST, "time.review"),
        (Phase.review, 10, 108, 0, WARNS, "time.total"),
        (Phase.review, 29, 120, 0, TRIPPED, "time.total"),
        (Phase.review, 30, 120, 0, TRIPPED, "time.review"),
        (Phase.testing, 20, 60, 0, TRIPPED, "time.testing"),
        (Phase.testing, 20, 60, 10, AT_REST, "time.testing"),
        (Phase.testing, 20, 120, 10, WARNS, "time.total"),
        (Phase.testing, 30, 60, 10, TRIPPED, "time.testing"),
        (Phase.deployment, 12, 12, -5, AT_REST, "time.deployment"),
        (Phase.deployment, 15, 15, -5, TRIPPED, "time.deployment"),
        (Phase.deployment, -1, -1, 0, AT_REST, "time.deployment"),
    ],
)
def test_time(
    phase: Phase, of_phase: int, of_run: int, granted: int, expected: tuple[BreakerState, bool], code: str
) -> None:
    check = check_time(of_phase * MINUTE, of_run * MINUTE, phase, TIMES, granted * MINUTE)
    assert (get_state(check), check.reason.code, check.name) == (expected, code, "time")
    assert (check.reason.value or 0) >= 0


def test_time_says_whose_it_was() -> None:
    texts = [check_time(29.9 * MINUTE, total * MINUTE, Phase.review, TIMES).reason.text for total in (30, 120)]
    assert texts == [
        "The review phase has worked 29 of its 30 minutes; waiting does not count.",
        "The run has worked 120 of its 120 minutes; waiting does not count.",
    ]


@given(st.integers(0, 200), st.integers(0, 300), st.integers(0, 100), st.sampled_from(Phase))
def test_more_work_never_untrips(of_phase: int, of_run: int, more: int, phase: Phase) -> None:
    before = check_time(of_phase * MINUTE, of_run * MINUTE, phase, TIMES)
    after = check_time((of_phase + more) * MINUTE, (of_run + more) * MINUTE, phase, TIMES)
    assert not before.should_break or after.should_break


def build_calls(failed: int, of: int, minutes_ago: float = 1) -> list[CallResult]:
    return [CallResult(NOW - minutes_ago * MINUTE, number < failed) for number in range(of)]


OPENED = Circuit(state=OPEN, since=NOW - 2 * MINUTE, until=NOW + 3 * MINUTE)
DUE = Circuit(state=OPEN, since=NOW - 5 * MINUTE, until=NOW)
TRYING = Circuit(state=HALF_OPEN, since=NOW - MINUTE, until=NOW + 4 * MINUTE, trial="a")
LOST = Circuit(state=HALF_OPEN, since=NOW - 5 * MINUTE, until=NOW, trial="a")
FRESH_TRIAL = (HALF_OPEN, "b", 5)

RATE_CASES: dict[
    str, tuple[list[CallResult], Circuit, tuple[BreakerState, bool], tuple[BreakerState, str | None, int]]
] = {
    "no calls": ([], Circuit(), AT_REST, (CLOSED, None, 0)),
    "none failed": (build_calls(0, 40), Circuit(), AT_REST, (CLOSED, None, 0)),
    "a few failed": (build_calls(3, 40), Circuit(), AT_REST, (CLOSED, None, 0)),
    "a tenth failed": (build_calls(4, 40), Circuit(), WARNS, (CLOSED, None, 0)),
    "almost a quarter failed": (build_calls(9, 40), Circuit(), WARNS, (CLOSED, None, 0)),
    "a quarter failed": (build_calls(10, 40), Circuit(), TRIPPED, (OPEN, None, 5)),
    "too few to tell": (build_calls(19, 19), Circuit(), AT_REST, (CLOSED, None, 0)),
    "just enough": (build_calls(20, 20), Circuit(), TRIPPED, (OPEN, None, 5)),
    "long ago": (build_calls(20, 20, minutes_ago=5), Circuit(), AT_REST, (CLOSED, None, 0)),
    "not yet": (build_calls(20, 20, minutes_ago=-1), Circuit(), AT_REST, (CLOSED, None, 0)),
    "the newest thousand": (build_calls(300, 300, 4) + build_calls(0, 1000, 1), Circuit(), AT_REST, (CLOSED, None, 0)),
    "before it closed": (build_calls(20, 20, 2), Circuit(since=NOW - MINUTE), AT_REST, (CLOSED, None, 0)),
    "since it closed": (build_calls(20, 20, 1), Circuit(since=NOW - 2 * MINUTE), TRIPPED, (OPEN, None, 5)),
    "the pause is not over": ([], OPENED, TRIPPED, (OPEN, None, 3)),
    "the pause is over": (build_calls(20, 20), DUE, (HALF_OPEN, False), FRESH_TRIAL),
    "somebody else tries": ([], TRYING, TRIPPED, (HALF_OPEN, "a", 4)),
    "the same call asks again": ([], TRYING.model_copy(update={"trial": "b"}), (HALF_OPEN, False), (HALF_OPEN, "b", 4)),
    "the trial was lost": ([], LOST, (HALF_OPEN, False), FRESH_TRIAL),
}


@pytest.mark.parametrize("case", RATE_CASES)
def test_error_rate(case: str) -> None:
    calls, circuit, expected, becomes = RATE_CASES[case]
    check, after = check_error_rate(calls, circuit, RATES, NOW, "b")
    assert get_state(check) == expected
    assert (after.state, after.trial, 0 if after.until is None else (after.until - NOW) / MINUTE) == becomes


@pytest.mark.parametrize(
    ("circuit", "trial", "succeeded", "state"),
    [
        (TRYING, "a", True, CLOSED),
        (TRYING, "a", False, OPEN),
        (TRYING, "b", True, HALF_OPEN),  # a call from before, or a trial that was given up
        (TRYING, "b", False, HALF_OPEN),
        (LOST, "a", True, CLOSED),  # late, but nobody else tried meanwhile
        (OPENED, "a", True, OPEN),
        (OPENED, "a", False, OPEN),
        (Circuit(), "a", False, CLOSED),
    ],
)
def test_settled(circuit: Circuit, trial: str, succeeded: bool, state: BreakerState) -> None:
    after = settle_call(circuit, trial, succeeded, RATES, NOW)
    assert after.state is state
    assert (after == circuit) is (state is circuit.state)
    if after != circuit:
        assert (after.since, after.until) == (NOW, NOW + 5 * MINUTE if state is OPEN else None)


def test_what_failed_before_the_trial_does_not_count_after_it() -> None:
    calls = build_calls(40, 40)
    closed = settle_call(TRYING, "a", True, RATES, NOW)
    assert get_state(check_error_rate(calls, closed, RATES, NOW + MINUTE, "b")[0]) == AT_REST
    set_back = settle_call(TRYING, "a", True, RATES, NOW - 3 * MINUTE)
    assert set_back.since == TRYING.since


def test_error_rate_says_what_happened() -> None:
    check, circuit = check_error_rate(build_calls(10, 40), Circuit(), RATES, NOW, "a")
    assert check.reason.text == (
        "10 of the last 40 model calls failed (25.0%); it stops at 25.0% of at least 20 calls within 5 min."
    )
    waits, _ = check_error_rate([], circuit, RATES, NOW + 2 * MINUTE, "b")
    assert waits.reason.text == "Forge calls no model: at 12:00 UTC many model calls had failed."
    assert waits.suggestion == "Wait until 12:05 UTC: then the next call may try again."
    assert (waits.reason.value, waits.reason.threshold) == (2, 5)


@pytest.mark.parametrize(
    "back, waits",  # minutes  # noqa: PT006
    [(1, 6), (5, 10), (6, 5), (1440, 5)],
)
def test_a_clock_that_is_set_back_delays_the_trial_and_never_for_long(back: int, waits: int) -> None:
    circuit = Circuit(state=OPEN, since=NOW, until=NOW + 5 * MINUTE)
    asked = NOW - back * MINUTE
    for minute in range(waits):
        check, circuit = check_error_rate([], circuit, RATES, asked + minute * MINUTE, "a")
        assert check.should_break
    assert get_state(check_error_rate([], circuit, RATES, asked + waits * MINUTE, "a")[0]) == (HALF_OPEN, False)


def test_a_clock_that_is_set_back_does_not_blind_it() -> None:
    closed = Circuit(since=NOW + 60 * MINUTE)
    _, anchored = check_error_rate([], closed, RATES, NOW - 2 * MINUTE, "a")
    assert get_state(check_error_rate(build_calls(20, 20), anchored, RATES, NOW, "a")[0]) == TRIPPED


@pytest.mark.parametrize(
    "broken",
    [
        {"state": "open"},
        {"state": "half_open", "since": NOW, "until": NOW},
        {"state": "open", "since": NOW, "until": NOW, "trial": "a"},
        {"trial": "a"},
    ],
)
def test_a_circuit_that_cannot_be_is_refused(broken: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Circuit.model_validate(broken)


STEP = st.one_of(
    st.tuples(st.just("ask"), st.integers(0, 4)),
    st.tuples(st.just("succeed"), st.integers(0, 4)),
    st.tuples(st.just("fail"), st.integers(0, 4)),
    st.tuples(st.just("wait"), st.integers(0, 400)),
    st.tuples(st.just("set back"), st.integers(0, 4000)),
)


@given(st.lists(STEP, max_size=60))
def test_half_open_lets_exactly_one_through_and_only_after_the_pause(steps: list[tuple[str, int]]) -> None:
    """Whoever asks, in whatever order calls end, processes die and the clock moves."""
    circuit, now, passed = Circuit(state=OPEN, since=NOW, until=NOW + 5 * MINUTE), NOW, timedelta()
    trying: str | None = None
    for what, number in steps:
        name, before = str(number), circuit
        if what == "wait":
            now, passed = now + timedelta(seconds=number), passed + timedelta(seconds=number)
        elif what == "set back":
            now -= timedelta(seconds=number)
        elif what == "ask" and circuit.state is not CLOSED:
            check, circuit = check_error_rate([], circuit, RATES, now, name)
            if not check.should_break:
                assert check.state is HALF_OPEN
                assert name == trying or passed >= 5 * MINUTE, "too early, or beside another trial"
                passed = passed if name == trying and circuit == before else timedelta()
                trying = name
        elif what in {"succeed", "fail"}:
            circuit = settle_call(circuit, name, what == "succeed", RATES, now)
            assert circuit.state is not CLOSED or before.state is CLOSED or name == trying
            if circuit != before:
                trying, passed = None, timedelta()
        assert (circuit.state is HALF_OPEN) == (circuit.trial is not None)


@given(
    st.lists(st.tuples(st.integers(-600, 600), st.booleans()), max_size=80),
    st.integers(-600, 600),
    st.one_of(st.none(), st.integers(-600, 600)),
)
def test_a_share_is_a_share_whatever_the_clocks_say(
    written: list[tuple[int, bool]], at: int, since: int | None
) -> None:
    calls = [CallResult(NOW + timedelta(seconds=second), failed) for second, failed in written]
    circuit = Circuit(since=None if since is None else NOW + timedelta(seconds=since))
    check, after = check_error_rate(calls, circuit, RATES, NOW + timedelta(seconds=at), "a")
    assert 0 <= (check.reason.value or 0) <= 1
    assert (after.state is OPEN) == check.should_break
    worse, _ = check_error_rate(
        [CallResult(each.at, True) for each in calls], circuit, RATES, NOW + timedelta(seconds=at), "a"
    )
    assert not check.should_break or worse.should_break
