"""Tells agents how the repository's commands end before anything is changed."""

from collections.abc import Iterator

from domain.runs.earlier_tests import Baseline
from domain.text.escaping import flatten_text
from domain.text.redaction import Redact

_LINE, _NAMED = 200, 20  # characters of each line, failed tests that are named


def render_baseline(baseline: Baseline | None, redact: Redact, *, says_words: bool) -> Iterator[str]:
    """A part of an agent's assignment; nothing where nothing is known.

    :param says_words: whether the agent may see what the repository's commands print, and what its tests are called.
    """
    if baseline is None or not (baseline.commands or baseline.lacks):
        return
    yield "== before any change"
    if baseline.lacks:
        yield f"The tests show nothing where they run{f': {_flatten(baseline.lacks, redact)}' if says_words else '.'}"
        if not baseline.is_runnable:
            yield "Nobody can run them for you."
            return
    for command in baseline.commands:
        ended = "succeeds" if command.is_successful else "fails already"
        yield f"- {command.kind}: `{_flatten(command.line, redact)}` {ended} after {command.seconds:.0f} s"
    if baseline.passed or baseline.failing:
        yield f"Tests that pass: {baseline.passed:,}. Tests that fail already: {len(baseline.failing):,}."
    else:
        yield "How many tests there are is not known: their command leaves no report that is read."
    if baseline.failing and says_words:
        yield "Leave these as they are, unless the task is about them:"
        yield from (f"- {_flatten(name, redact)}" for name in baseline.failing[:_NAMED])


def _flatten(text: str, redact: Redact) -> str:
    line = redact(flatten_text(text))
    return line if len(line) <= _LINE else f"{line[: _LINE - 1]}…"
