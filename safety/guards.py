"""Decides whether a task of an agent may continue, by four guards in a fixed order; the first one wins.

The order and the numbers are those of Forge's guard rules: iterations and time, then loops, then errors of
one kind. A task that a person continues starts a new stretch: an empty history, a new start.

Two iterations are the same step if action and result are the same, apart from volatile parts (times,
ids, temporary paths, counters). A reworded thought makes no new step. The same action with another
result is no loop, nor is another action with the same short result: that is polling, paging or searching.
"""

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from pydantic import Field

from domain.config.limits import Guards
from domain.gates import Gate, GateDecision, GateState
from domain.value import Value
from domain.verdicts import BreakerState, Check, Reason

THRESHOLD = 3
"""Repetitions that make a loop. Fixed by Forge's guard rules: fewer would alarm falsely, more would miss loops."""


@dataclass(frozen=True)
class LoopStep:
    """The comparable form of an iteration, of bounded size.

    :param did: a digest of the action as it was.
    :param action: without volatile parts; a long one is cut to its ends and a digest.
    :param said: the ends of thought and output without volatile parts; only if there is no action.
    :param result: a digest of error and output without volatile parts.
    :param is_telling: whether different actions are unlikely to give this result.
    :param error: the kinds of errors in it, a line for each; empty: none.
    """

    did: str = ""
    action: str = ""
    said: str = ""
    result: str = ""
    is_telling: bool = False
    error: str = ""


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
    verdicts = (guard(history, limits, max(now - started, timedelta())) for guard in _GUARDS)
    return next((verdict for verdict in verdicts if verdict is not None), None)


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


@dataclass(frozen=True)
class Iteration:
    """One turn of an agent: a model call and its results.

    :param thought: what the model said.
    :param action: the tools it called with their arguments, as one text without ids of the calls; empty: none.
    :param output: what the tools answered.
    :param error: the kinds of errors in it, a line for each; empty: none.
    """

    thought: str = ""
    action: str = ""
    output: str = ""
    error: str = ""


LONGEST_PERIOD = 3
_SAMPLE = 16_000  # characters read of each end of an output
_KEPT = 1_000  # characters kept of each end of an action or a thought
_ERROR = 200  # characters of the kind of an error
_ERRORS = 10  # kinds of errors of one iteration
_TELLING = 120  # characters from which different actions are unlikely to give the same result
_ALIKE = 0.6  # share of words in common from which two thoughts are the same, reworded
_WORDS = re.compile(r"[^\s\"',:;=(){}\[\]]+")
_ENDING = re.compile(r"(?<=\w{3})(?:ing|ed|es|e|s)$")
_SMALL_WORDS = frozenset(
    re.findall(
        r"\w+",
        "a again am an and are as at be been but by can could did do does for from had has have how i if in into is it"
        " its just let ll me more my need next no not now of on once one or our please re s see should so still t that"
        " the them then there thi this time to up us ve wa want was we were what when which who why will with would"
        " you",
    )
)
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_UNIT = r"(?:ns|µs|us|ms|secs?|seconds?|s|mins?|minutes?|m|hrs?|hours?|h)"
_SPAN = rf"\b\d+(?:[.,]\d+)?\s?{_UNIT}\b(?:\s?\d+(?:[.,]\d+)?\s?{_UNIT}\b){{0,3}}"
_RANDOM_NAME = r"(?:pytest-of-\w+/pytest-\w+|tmp[\w.-]{4,}|[\w.-]*\d{4,}[\w.-]*)"
_TEMPORARY = rf"(?:/private)?(?:/var/folders/\w\w/\w+/T|/var/tmp|/tmp|/dev/shm)/{_RANDOM_NAME}"
_LEFT_OR_TOOK = rf"((?:remaining|left|eta)\W{{1,3}}{_SPAN}|{_SPAN}\s(?:remaining|left))\b|{_SPAN}"
_LABELED = (
    r"\b((?:request|req|trace|span|correlation|session|run|job|build|pid|thread|id)(?:[ _-]?id)?\b[\s\"':=#]{0,4})"
    r"\d{4,}\b(?!\s?(?:/|of\b))"
)
_NOISE_IN_ACTIONS = (
    (re.compile(_TEMPORARY), "TMP"),
    (re.compile(r"\b(attempt)([ #]{0,2})\d+\b", re.IGNORECASE), r"\1"),
)
"""Few, since another argument makes another action."""
_NOISE = (
    *_NOISE_IN_ACTIONS,
    (re.compile(r"\x1b\[[0-9;?]*[A-Za-z]"), ""),
    (re.compile(r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?(?:Z|\s?[+-]\d\d:?\d\d)?"), "WHEN"),
    (
        re.compile(
            rf"\b(?:[A-Z][a-z]{{2}},? )?(?:\d\d? {_MONTH} \d{{4}}|{_MONTH} +\d\d?,?(?: \d{{4}})?) (?=\d\d:\d\d)"
        ),
        "",
    ),
    (re.compile(r"(?<![\w:.])\d\d?:[0-5]\d(?::[0-5]\d)?(?:[.,]\d+)?\b(?!:\d)"), "WHEN"),
    (re.compile(r"\b1[5-9]\d{8}(?:\d{3})?(?:\.\d+)?\b"), "WHEN"),
    # Remaining time shows progress, so it stays; elapsed time does not.
    (re.compile(_LEFT_OR_TOOK, re.IGNORECASE), r"\1"),
    (re.compile(r"\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b"), "ID"),
    (re.compile(r"\b0x[0-9a-fA-F]+\b"), "ID"),
    (re.compile(r"\b(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,64}\b"), "ID"),
    (re.compile(r"\b[0-7][0-9A-HJKMNP-TV-Z]{25}\b"), "ID"),
    (re.compile(_LABELED, re.IGNORECASE), r"\1"),
    (re.compile(r"\b(attempt|try|tries|retry|poll)\b([\s#:=(]{0,3})\d+(?:\s?(?:/|of)\s?\d+)?", re.IGNORECASE), r"\1"),
    (re.compile(r"\b(localhost|127\.0\.0\.1|\[::1\]):\d{4,5}\b"), r"\1"),
    (re.compile(r"^\[\d{2,7}\](?=\s)|(?<=\w)\[\d{2,7}\](?=:)", re.MULTILINE), ""),  # process ids of logs
    (re.compile(r"^#\d+ \d+\.\d+ ", re.MULTILINE), ""),  # seconds of an image's build
    (re.compile(r"\[gw\d+\]\s*\[\s*\d+%\]"), ""),
)


def to_step(iteration: Iteration) -> LoopStep:
    """Converts an iteration to its comparable form.

    It reads at most 32,000 characters of each text.
    """
    # The distinct kinds of errors, without volatile parts.
    kinds = dict.fromkeys(line[:_ERROR] for line in normalise(iteration.error).splitlines())
    action, output, error = _action(iteration.action), normalise(iteration.output), "\n".join([*kinds][:_ERRORS])
    return LoopStep(
        did=_digest(iteration.action),
        action=action,
        said="" if action else _ends(normalise(f"{iteration.thought}\n{iteration.output}"), _KEPT),
        result=_digest(f"{error}\n{output}"),
        is_telling=len(output) >= _TELLING,
        error=error,
    )


@dataclass(frozen=True)
class Loop:
    """A detected loop.

    :param period: how many steps repeat.
    """

    period: int

    @property
    def iterations(self) -> int:
        return self.period * THRESHOLD


def find_loop(history: Sequence[LoopStep]) -> Loop | None:
    """Finds the shortest loop that the latest steps form; None if there is none.

    :param history: the steps of one task in order, since it started or a person last continued it.
    """
    steps = history[-LONGEST_PERIOD * THRESHOLD :]
    periods = (period for period in range(1, LONGEST_PERIOD + 1) if _repeats(steps, period))
    return next((Loop(period) for period in periods), None)


def normalise(text: str) -> str:
    """A tool's output without volatile parts; meaningful numbers stay.

    It reads only both ends of a long text and sorts the lines, since parallel work reports in any order.
    """
    text = _ends(text)
    for pattern, instead in _NOISE:
        text = pattern.sub(instead, text)
    lines = (" ".join(line.split()) for line in text.splitlines())
    return "\n".join(sorted(line for line in lines if line))


def _repeats(steps: Sequence[LoopStep], period: int) -> bool:
    if len(steps) < period * THRESHOLD:
        return False
    last = steps[-period:]
    earlier = steps[-period * THRESHOLD : -period]
    return all(_are_alike(step, last[at % period]) for at, step in enumerate(earlier))


def _are_alike(one: LoopStep, other: LoopStep) -> bool:
    if not one.action and not other.action:
        return _are_reworded(one.said, other.said)
    if one.action != other.action and not _is_variant(one.action, other.action):
        return False
    return one.result == other.result and (one.is_telling or one.action == other.action)


def _action(text: str) -> str:
    text = _shorten(text, _SAMPLE)
    for pattern, instead in _NOISE_IN_ACTIONS:
        text = pattern.sub(instead, text)
    return _shorten(" ".join(text.split()), _KEPT)


def _ends(text: str, sample: int = _SAMPLE) -> str:
    return text if len(text) <= 2 * sample else f"{text[:sample]}\n{text[-sample:]}"


def _shorten(text: str, sample: int) -> str:
    """Shortens a long action but keeps a digest of it, since every character may matter."""
    ends = _ends(text, sample)
    return text if ends == text else f"{ends}\n{_digest(text)}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()


def _is_variant(one: str, other: str) -> bool:
    """Whether two actions differ only in flags, order or a few words."""
    fewer, more = sorted(({word for word in _WORDS.findall(each) if word[0] != "-"} for each in (one, other)), key=len)
    return fewer <= more and len(more) <= 2 * len(fewer)


def _are_reworded(one: str, other: str) -> bool:
    """Whether two texts say the same in other words. Different numbers are different facts."""
    if one == other:
        return True
    words, others = _stems(one), _stems(other)
    return _numbers(one) == _numbers(other) and len(words & others) >= _ALIKE * max(1, len(words | others))


def _stems(text: str) -> set[str]:
    words = {_ENDING.sub("", word) for word in re.findall(r"[^\W\d_]+", text.lower())}
    return words - _SMALL_WORDS


def _numbers(text: str) -> list[str]:
    return sorted(re.findall(r"\d+", text))
