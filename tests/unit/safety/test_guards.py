"""The guards of one agent task: which one wins, with which limits, and what people see of it."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from domain.config.limits import Guards
from safety.guards import Guard, GuardLimits, Iteration, TaskKind, check, limits_of, to_step

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
LIMITS = GuardLimits()


def turns(count: int, *, error: str = "") -> list[Iteration]:
    """Turns of which each does something else."""
    return [Iteration(action=f"read_file {number}.py", output=f"file {number}", error=error) for number in range(count)]


def find_guard(history: list[Iteration], minutes: float = 1, limits: GuardLimits = LIMITS) -> str | None:
    verdict = check([to_step(each) for each in history], limits, START + minutes * MINUTE, START)
    return None if verdict is None else verdict.name


CIRCLING = [Iteration(action="make", output="failed")] * 3
FAILING = turns(3, error="ToolError")


@pytest.mark.parametrize(
    ("history", "minutes", "expected"),
    [
        ([], 0, None),
        (turns(9), 14.9, None),
        (turns(10), 1, "max_iterations"),
        (turns(11), 1, "max_iterations"),
        (turns(1), 15, "max_runtime"),
        ([], 15, "max_runtime"),
        (CIRCLING, 1, "loop_detection"),
        (CIRCLING[:2], 1, None),
        (FAILING, 1, "consecutive_errors"),
        (FAILING[:2], 1, None),
        ([*FAILING[:2], *turns(1), *FAILING[:2]], 1, None),  # a success in between
        ([*FAILING[:2], *turns(2, error="Timeout")], 1, None),  # another kind in between
        ([*FAILING, *turns(1)], 1, None),
        ([*turns(1, error="a\nb"), *turns(1, error="b\nc"), *turns(1, error="b")], 1, "consecutive_errors"),
        ([*turns(1, error="a\nb"), *turns(1, error="b\nc"), *turns(1, error="c")], 1, None),
        ([*turns(4), *FAILING], 1, "consecutive_errors"),
        ([], -60, None),  # the clock was set back
    ],
)
def test_guards(history: list[Iteration], minutes: float, expected: str | None) -> None:
    assert find_guard(history, minutes) == expected


@pytest.mark.parametrize(
    ("history", "minutes", "expected"),
    [
        ([*turns(7), *[Iteration(action="make", output="failed", error="ToolError")] * 3], 15, Guard.max_iterations),
        ([Iteration(action="make", output="failed", error="ToolError")] * 3, 15, Guard.max_runtime),
        ([Iteration(action="make", output="failed", error="ToolError")] * 3, 14, Guard.loop_detection),
        (FAILING, 14, Guard.consecutive_errors),
    ],
)
def test_the_first_one_wins(history: list[Iteration], minutes: float, expected: Guard) -> None:
    assert find_guard(history, minutes) == expected


def test_it_says_what_happened_against_which_limit_and_what_to_do() -> None:
    cases = [(turns(10), 1), (turns(1), 15.5), (CIRCLING, 1), (FAILING, 1), ([*turns(1), *turns(2)] * 3, 1)]
    verdicts = [
        check([to_step(each) for each in history], LIMITS, START + minutes * MINUTE, START)
        for history, minutes in cases
    ]
    assert [verdict.reason.text for verdict in verdicts if verdict] == [
        "The task used all of its 10 iterations and is not done.",
        "The task ran for 15 min and is not done; it may run for 15 min.",
        "The task goes in circles: its last 3 iterations were the same step 3 times in a row.",
        "The last 3 iterations had the same kind of error, ToolError; it stops at 3.",
        "The task goes in circles: its last 9 iterations were the same 3 steps 3 times in a row.",
    ]
    assert [(verdict.reason.value, verdict.reason.threshold) for verdict in verdicts if verdict] == [
        (10, 10),
        (15.5, 15),
        (3, 3),
        (3, 3),
        (3, 3),
    ]
    assert all(verdict and verdict.should_break and verdict.suggestion for verdict in verdicts)


@pytest.mark.parametrize(
    ("kind", "iterations", "minutes"),
    [
        (TaskKind.tests, 8, 15),
        (TaskKind.implementation, 10, 15),
        (TaskKind.research, 10, 20),
        (TaskKind.other, 10, 15),
    ],
)
def test_limits_by_kind(kind: TaskKind, iterations: int, minutes: int) -> None:
    limits = limits_of(kind, Guards())
    assert (limits.max_iterations, limits.max_runtime / MINUTE) == (iterations, minutes)


RANGES = {
    TaskKind.tests: ((5, 8), (10, 15)),
    TaskKind.implementation: ((10, 15), (15, 30)),
    TaskKind.research: ((6, 10), (20, 30)),
    TaskKind.other: ((1, 50), (1, 60)),
}


@given(st.sampled_from(TaskKind), st.integers(1, 50), st.integers(1, 60), st.integers(1, 20))
def test_limits_stay_in_range_unless_the_repository_is_stricter(
    kind: TaskKind, iterations: int, minutes: int, errors: int
) -> None:
    guards = Guards(max_iterations=iterations, max_runtime_minutes=minutes, consecutive_errors=errors)
    limits = limits_of(kind, guards)
    for chosen, wanted, usual, (lowest, highest) in zip(
        (limits.max_iterations, limits.max_runtime / MINUTE), (iterations, minutes), (10, 15), RANGES[kind], strict=True
    ):
        assert chosen <= highest
        assert chosen >= lowest or chosen == wanted < usual
        assert chosen <= (wanted if wanted < usual else max(wanted, lowest))
    assert limits.consecutive_errors == errors


@given(st.sampled_from(TaskKind), st.integers(1, 49), st.integers(1, 59))
def test_a_higher_wish_never_gives_less(kind: TaskKind, iterations: int, minutes: int) -> None:
    less = limits_of(kind, Guards(max_iterations=iterations, max_runtime_minutes=minutes))
    more = limits_of(kind, Guards(max_iterations=iterations + 1, max_runtime_minutes=minutes + 1))
    assert less.max_iterations <= more.max_iterations
    assert less.max_runtime <= more.max_runtime


@pytest.mark.parametrize(
    "beyond", [{"max_iterations": 51}, {"max_iterations": 0}, {"max_runtime": 61 * MINUTE}, {"max_runtime": 0}]
)
def test_nothing_goes_beyond_the_hard_limits(beyond: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        GuardLimits.model_validate(beyond)


@pytest.mark.parametrize(("asked", "granted"), [(5, 5), (50, 50), (500, 50), (0, 1), (-3, 1)])
def test_a_person_grants_another_stretch(asked: int, granted: int) -> None:
    stretch = LIMITS.extend(asked)
    assert (stretch.max_iterations, stretch.max_runtime) == (granted, LIMITS.max_runtime)
    assert find_guard([], limits=stretch) is None


ERRORS = st.sampled_from(["", "", "ToolError", "Timeout"])
HISTORIES = st.lists(st.builds(Iteration, action=st.text("abc", min_size=1), output=st.text("xyz"), error=ERRORS))


@given(HISTORIES, st.integers(0, 60), st.integers(0, 30), st.integers(0, 20))
def test_iterations_and_time_never_untrip(history: list[Iteration], minutes: int, later: int, further: int) -> None:
    before, after = find_guard(history, minutes), find_guard([*history, *turns(further)], minutes + later)
    if before in {Guard.max_iterations, Guard.max_runtime}:
        assert after in {Guard.max_iterations, Guard.max_runtime}
    if before is None and after is None:
        assert len(history) + further < 10
        assert minutes + later < 15


@given(HISTORIES)
def test_errors_count_from_the_last_one_back(history: list[Iteration]) -> None:
    few = [*history[:4], *turns(1), *turns(2, error="Refused")]
    assert find_guard(few) is None
    assert find_guard([*few, *turns(1, error="Refused")]) == Guard.consecutive_errors
    assert find_guard([*few, *turns(1), *turns(1, error="Refused")]) is None
