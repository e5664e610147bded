"""Tells an agent how commands ended before any change, and, if it gave up in disguise, how to go on otherwise."""

from collections.abc import Iterator, Sequence
from difflib import unified_diff
from itertools import chain, pairwise

from agents.prompts import load_prompt, quote_lines
from domain.globs import matches
from domain.review.avoidance import INSTEAD, LEGITIMATE
from domain.runs.earlier_tests import Baseline
from domain.runs.patches import ChangedFile, ChangeSet
from domain.runs.recovery import HiddenFailure, RecoveryAttempt, Strategy
from domain.text.escaping import cut_text, flatten_text
from domain.text.redaction import redact_outgoing
from domain.value import Value

_LINE, _NAMED = 200, 20  # characters of each line, failed tests that are named

_SHOWN, _LONGEST = 20, 2_000  # places of each attempt, and characters of an answer
_FILES, _DIFF, _AROUND = 5, 8_000, 12  # files that were damaged, characters of each, lines around what was taken away
_INSTEAD = "fix the cause"


class DamagedFile(Value):
    """A file in which something was hidden or taken away.

    :param diff: from how it was before the work to how it was left.
    """

    path: str
    diff: str


class RecoveryTask(Value):
    """How an agent is to recover.

    :param attempts: from the first one to the one that begins now.
    :param damaged: for :attr:`Strategy.context`.
    """

    attempts: tuple[RecoveryAttempt, ...]
    damaged: tuple[DamagedFile, ...] = ()

    @property
    def strategy(self) -> Strategy:
        return self.attempts[-1].strategy or Strategy.cause


def build_recovery_task(
    attempts: Sequence[RecoveryAttempt], whole: ChangeSet, never_send: Sequence[str]
) -> RecoveryTask:
    """The task of the last of these attempts.

    :param whole: everything that changed since the base of the run.
    :param never_send: globs of files that a model must not see.
    """
    task = RecoveryTask(attempts=tuple(_withhold(each, never_send) for each in attempts))
    if task.strategy is not Strategy.context:
        return task
    paths = {each.path for each in attempts[-1].hidden}
    files = [file for file in whole.files if file.path in paths and not matches(file.path, never_send)]
    return task.model_copy(update={"damaged": tuple(map(_describe_damage, files[:_FILES]))})


def _withhold(attempt: RecoveryAttempt, never_send: Sequence[str]) -> RecoveryAttempt:
    """The attempt without what a model must not see: tests may print what is in any file."""
    if not never_send:
        return attempt
    hidden = [
        each.model_copy(update={"output": "", "demanded": () if matches(each.path, never_send) else each.demanded})
        for each in attempt.hidden
    ]
    return attempt.model_copy(update={"hidden": tuple(hidden)})


def load_recovery_instructions(strategy: Strategy) -> str:
    """The instructions for an attempt, added to the usual ones."""
    return f"{load_prompt('recover')}\n\n{load_prompt(f'recover_{strategy.value}')}"


def render_recovery(task: RecoveryTask | None) -> Iterator[str]:
    """What was hidden, which attempts there were, and what was taken away, as data."""
    if task is None:
        return
    now = task.attempts[-1]
    made = [(each, later) for each, later in pairwise(task.attempts) if each.is_made]
    yield f"== recovery: attempt {len(made) + 1}, strategy {task.strategy}"
    yield "A failure was hidden instead of mended:"
    yield from chain.from_iterable(_render_place(each) for each in now.hidden[:_SHOWN])
    if made:
        yield "== recovery attempts so far"
    for number, (attempt, later) in enumerate(made, 1):
        yield f"Attempt {number}, strategy {attempt.strategy}, was about:"
        hidden = (redact_outgoing(f"{each.place} {each.rule}") for each in attempt.hidden[:_SHOWN])
        yield from (f"- {flatten_text(each)}" for each in hidden)
        yield "It answered:"
        yield from quote_lines(redact_outgoing(later.said)[:_LONGEST])
    if now.said:
        yield "The answer with which it was hidden:"
        yield from quote_lines(redact_outgoing(now.said)[:_LONGEST])
    for file in task.damaged:
        yield f"== what was taken away: {flatten_text(redact_outgoing(file.path))}"
        yield from quote_lines(redact_outgoing(file.diff))


def _render_place(hidden: HiddenFailure) -> Iterator[str]:
    yield f"- {flatten_text(redact_outgoing(f'{hidden.place} {hidden.rule}'))}"
    yield from quote_lines(redact_outgoing(hidden.what))
    if hidden.demanded:
        yield "  It demanded:"
        yield from quote_lines(redact_outgoing("\n".join(hidden.demanded)))
    if hidden.output:
        yield "  It printed, at its end:"
        yield from quote_lines(redact_outgoing(hidden.output))
    yield f"  Legitimate: {LEGITIMATE[hidden.kind]}"
    yield f"  Instead: {INSTEAD.get(hidden.kind, _INSTEAD)}."


def _describe_damage(file: ChangedFile) -> DamagedFile:
    """The file as it was, as far as it was changed, with the lines around."""
    before, after = ((side or b"").decode(errors="replace").splitlines() for side in (file.before, file.after))
    diff = "\n".join(unified_diff(before, after, "before", "now", n=_AROUND, lineterm=""))
    return DamagedFile(path=file.path, diff=diff if len(diff) <= _DIFF else f"{diff[:_DIFF]}\n[the rest is left out]")


def render_baseline(baseline: Baseline | None, *, says_words: bool) -> Iterator[str]:
    """A part of an agent's assignment; nothing where nothing is known.

    :param says_words: whether the agent may see what the repository's commands print, and what its tests are called.
    """
    if baseline is None or not (baseline.commands or baseline.lacks):
        return
    yield "== before any change"
    if baseline.lacks:
        yield f"The tests show nothing where they run{f': {_flatten(baseline.lacks)}' if says_words else '.'}"
        if not baseline.is_runnable:
            yield "Nobody can run them for you."
            return
    for command in baseline.commands:
        ended = "succeeds" if command.is_successful else "fails already"
        yield f"- {command.kind}: `{_flatten(command.line)}` {ended} after {command.seconds:.0f} s"
    if baseline.passed or baseline.failing:
        yield f"Tests that pass: {baseline.passed:,}. Tests that fail already: {len(baseline.failing):,}."
    else:
        yield "How many tests there are is not known: their command leaves no report that is read."
    if baseline.failing and says_words:
        yield "Leave these as they are, unless the task is about them:"
        yield from (f"- {_flatten(name)}" for name in baseline.failing[:_NAMED])


def _flatten(text: str) -> str:
    return cut_text(redact_outgoing(flatten_text(text)), _LINE)
