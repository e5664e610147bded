"""Decides whether a task of an agent may continue, by four guards in a fixed order; the first one wins.

The order and the numbers are those of Forge's guard rules: iterations and time, then loops, then errors of
one kind. A task that a person continues starts a new stretch: an empty history, a new start.
"""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from enum import StrEnum

from pydantic import Field

from domain.config.limits import Guards
from domain.gates import Gate, GateDecision, GateState
from domain.value import Value
from domain.verdicts import BreakerState, Check, Reason
from safety.loop_detection import THRESHOLD, LoopStep, find_loop

MOST_ITERATIONS = 50
LONGEST_RUNTIME = timedelta(minutes=60)

_MINUTE = timedelta(minutes=1)


class Guard(StrEnum):
    """The guards, in order."""

    max_iterations = "max_iterations"
    max_runtime = "max_runtime"
    loop_detection = "loop_detection"
    consecutive_errors = "consecutive_errors"


class TaskKind(StrEnum):
    """The kind of a task, as far as it changes the limits."""

    tests = "tests"  # make failing tests pass
    implementation = "implementation"
    research = "research"
    other = "other"


_ITERATIONS = {
    TaskKind.tests: (5, 8),
    TaskKind.implementation: (10, 15),
    TaskKind.research: (6, 10),
}
_MINUTES = {
    TaskKind.tests: (10, 15),
    TaskKind.implementation: (15, 30),
    TaskKind.research: (20, 30),
}
_USUAL = Guards()


class GuardLimits(Value):
    """The limits of one stretch of a task; never above 50 iterations or 60 minutes."""

    max_iterations: int = Field(default=_USUAL.max_iterations, ge=1, le=MOST_ITERATIONS)
    max_runtime: timedelta = Field(default=_USUAL.max_runtime_minutes * _MINUTE, gt=timedelta(), le=LONGEST_RUNTIME)
    consecutive_errors: int = Field(default=_USUAL.consecutive_errors, ge=1)

    def extend(self, iterations: int) -> "GuardLimits":
        """The limits of another stretch that a person granted: 1 to 50 iterations."""
        return self.model_copy(update={"max_iterations": max(1, min(iterations, MOST_ITERATIONS))})


def limits_of(kind: TaskKind, guards: Guards) -> GuardLimits:
    """The limits of a task: the repository's settings, within the range of its kind.

    A setting below the default is a wish to be stricter and stays, even below the range.
    """
    iterations = _clamp(_ITERATIONS.get(kind), guards.max_iterations, _USUAL.max_iterations)
    minutes = _clamp(_MINUTES.get(kind), guards.max_runtime_minutes, _USUAL.max_runtime_minutes)
    return GuardLimits(
        max_iterations=iterations, max_runtime=minutes * _MINUTE, consecutive_errors=guards.consecutive_errors
    )


def _clamp(bounds: tuple[int, int] | None, wanted: int, usual: int) -> int:
    if bounds is None:
        return wanted
    lowest, highest = bounds
    return min(highest, wanted if wanted < usual else max(lowest, wanted))


def find_release(gates: Sequence[Gate]) -> GateDecision | None:
    """The latest decision that continued a run after a guard had stopped it.

    :param gates: of this run, in order.
    """
    decisions = [gate.decision for gate in gates if gate.name == "guard" and gate.state is GateState.approved]
    return decisions[-1] if decisions else None


def check(history: Sequence[LoopStep], limits: GuardLimits, now: datetime, started: datetime) -> Check | None:
    """Returns the guard that stops the task before its next turn; None if it may continue.

    :param history: the turns of this stretch, in order.
    :param started: when the stretch began, in UTC, moved forward by the time it spent waiting for people or limits.
    """
    verdicts = (guard(history, limits, _measure_runtime(now, started)) for guard in _GUARDS)
    return next((verdict for verdict in verdicts if verdict is not None), None)


def _measure_runtime(now: datetime, started: datetime) -> timedelta:
    return max(now - started, timedelta())  # a clock that was set back must not give negative time


def _iterations(history: Sequence[LoopStep], limits: GuardLimits, _: timedelta) -> Check | None:
    if len(history) < limits.max_iterations:
        return None
    return _stop(
        Guard.max_iterations,
        f"The task used all of its {limits.max_iterations} iterations and is not done.",
        len(history),
        limits.max_iterations,
        "Let it continue if it makes progress; otherwise split the task or add what is missing.",
    )


def _runtime(_: Sequence[LoopStep], limits: GuardLimits, ran: timedelta) -> Check | None:
    if ran < limits.max_runtime:
        return None
    minutes, limit = ran / _MINUTE, limits.max_runtime / _MINUTE
    return _stop(
        Guard.max_runtime,
        f"The task ran for {int(minutes)} min and is not done; it may run for {limit:g} min.",
        minutes,
        limit,
        "Check in its history what took so long before you let it continue.",
    )


def _loop(history: Sequence[LoopStep], _: GuardLimits, __: timedelta) -> Check | None:
    loop = find_loop(history)
    if loop is None:
        return None
    same = "the same step" if loop.period == 1 else f"the same {loop.period} steps"
    return _stop(
        Guard.loop_detection,
        f"The task goes in circles: its last {loop.iterations} iterations were {same} {THRESHOLD} times in a row.",
        THRESHOLD,
        THRESHOLD,
        "Say what to do differently when you let it continue, or accept the work so far.",
    )


def _errors(history: Sequence[LoopStep], limits: GuardLimits, _: timedelta) -> Check | None:
    latest = history[-limits.consecutive_errors :]
    kinds = _common_errors(latest) if len(latest) == limits.consecutive_errors else ()
    if not kinds:
        return None
    count = next((n for n, each in enumerate(reversed(history)) if not _common_errors([each], kinds)), len(history))
    return _stop(
        Guard.consecutive_errors,
        f"The last {count} iterations had the same kind of error, {'; '.join(kinds)}; "
        f"it stops at {limits.consecutive_errors}.",
        count,
        limits.consecutive_errors,
        "Find the cause of the error before you let it continue.",
    )


_GUARDS: tuple[Callable[[Sequence[LoopStep], GuardLimits, timedelta], Check | None], ...] = (
    _iterations,
    _runtime,
    _loop,
    _errors,
)


def _stop(guard: Guard, text: str, value: float, threshold: float, suggestion: str) -> Check:
    reason = Reason(code=f"guard.{guard.value}", text=text, value=value, threshold=threshold)
    return Check(name=guard.value, state=BreakerState.open, reason=reason, suggestion=suggestion)


def _common_errors(steps: Sequence[LoopStep], kinds: Sequence[str] = ()) -> Sequence[str]:
    """The kinds of errors that all steps share.

    :param kinds: only these; none: any.
    """
    wanted = kinds or steps[0].error.splitlines()
    return [kind for kind in wanted if all(kind in each.error.splitlines() for each in steps)]
