"""Detects whether an agent repeats the same step, or the same few steps, three times in a row.

Two iterations are the same step if action and result are the same, apart from volatile parts (times,
ids, temporary paths, counters). A reworded thought makes no new step. The same action with another
result is no loop, nor is another action with the same short result: that is polling, paging or searching.
"""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass

THRESHOLD = 3
"""Repetitions that make a loop. Fixed by Forge's guard rules: fewer would alarm falsely, more would miss loops."""
LONGEST_PERIOD = 3

_SAMPLE = 16_000  # characters read of each end of an output
_KEPT = 1_000  # characters kept of each end of an action or a thought
_ERROR = 200  # characters of the kind of an error
_ERRORS = 10  # kinds of errors of one iteration
_TELLING = 120  # characters from which different actions are unlikely to give the same result
_ALIKE = 0.6  # share of words in common from which two thoughts are the same, reworded


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


def to_step(iteration: Iteration) -> LoopStep:
    """Converts an iteration to its comparable form.

    It reads at most 32,000 characters of each text.
    """
    action, output, error = _action(iteration.action), normalise(iteration.output), _kinds(iteration.error)
    return LoopStep(
        did=_digest(iteration.action),
        action=action,
        said="" if action else _ends(normalise(f"{iteration.thought}\n{iteration.output}"), _KEPT),
        result=_digest(f"{error}\n{output}"),
        is_telling=len(output) >= _TELLING,
        error=error,
    )


def _kinds(error: str) -> str:
    """The distinct kinds of errors, without volatile parts."""
    kinds = dict.fromkeys(line[:_ERROR] for line in normalise(error).splitlines())
    return "\n".join([*kinds][:_ERRORS])


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
