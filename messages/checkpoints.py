"""Every text about checkpoints of an agent's work, and diffs of it without secrets, inert wherever they are shown."""

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import islice, takewhile

from domain.gates import Gate
from domain.runs.patches import ChangedFile
from domain.runs.run import ExecutionMode, Run, RunState
from domain.runs.work_checkpoint import ENDS, CheckpointCause, RollbackProblem, RollbackRefusal, WorkCheckpoint
from domain.text.escaping import escape, flatten_redacted, inline_code, inline_path, name_count, strip_invisible
from domain.text.redaction import redact_outgoing
from messages.commands import MOST_LINES, describe_state
from safety.checkpoint_limits import ExceededLimit, KeepingProblem

_LARGEST = 500_000  # bytes of a file whose lines are compared
_MOST_LINES = 20_000  # on both sides between what they begin and end with alike; difflib takes quadratic time
_CONTEXT = 3  # lines
_LONGEST = 1_000  # characters of a line on a page
_KINDS = {"+": "added", "-": "removed", "@": "place", "\\": "place"}


MOST_RECENT = 5
"""Checkpoints that a question about an agent shows, the newest ones."""
_NAMED = 3  # files of one checkpoint
_WORDS = 160  # characters of an agent's words in one cell
_CAUSES = {
    CheckpointCause.time: "time passed",
    CheckpointCause.changes: "many changes",
    CheckpointCause.stopped: "the agent ended",
    CheckpointCause.done: "done",
    CheckpointCause.closed: "Forge's own agent works on it",
}


@dataclass(frozen=True)
class CompletedRollback:
    """A roll-back that was carried out.

    :param made: the checkpoint that it added.
    :param target: whose state it restores.
    :param before: the newest checkpoint before it.
    :param waiting: what its run waits for.
    """

    made: WorkCheckpoint
    target: WorkCheckpoint
    before: WorkCheckpoint
    run: Run
    waiting: Sequence[Gate] = ()


def describe_cause(checkpoint: WorkCheckpoint, restored: WorkCheckpoint | None = None) -> str:
    """Why a checkpoint was made, as plain text.

    :param restored: of a roll-back: the checkpoint whose state it restores, if it is known.
    """
    if checkpoint.restores is None:
        return _CAUSES[checkpoint.cause]
    to = "" if restored is None else f" to {restored.short_id}"
    only = f", only {', '.join(checkpoint.paths)}" if checkpoint.paths else ""
    return f"taken back{to} by {checkpoint.by or 'somebody'}{only}"


def render_recent(recent: Sequence[WorkCheckpoint], paths: Mapping[str, Sequence[str]]) -> str:
    """The newest checkpoints of a piece of work below a question about it; empty if there are none.

    :param paths: by the id of a checkpoint: the files that changed since the one before.
    """
    if not recent:
        return ""
    rows = [
        f"| {each.short_id} | {_time(each.at)} | {_cause(each, recent)} | {each.files} | {_name(paths, each)} |"
        for each in recent[-MOST_RECENT:]
    ]
    head = "| checkpoint | at (UTC) | why | files | changed since the one before |"
    table = [head, "| --- | --- | --- | --- | --- |", *rows]
    parts = ["The newest checkpoints of this work:", "\n".join(table)]
    if recent[-1].cause not in ENDS:
        parts.append(
            "`/forge rollback C-ID` takes the work back to one of them, with the names of files behind it only these. "
            "Then answer here, and the next attempt begins there."
        )
    return "\n\n".join(parts)


def render_timeline(run_id: str, made: Sequence[WorkCheckpoint]) -> str:
    """All that a run's agents kept, folded; empty if that is nothing.

    :param made: in order.
    """
    if not made:
        return ""
    shown = made[-MOST_LINES:]
    left = f", the last {len(shown)} of them" if len(made) > len(shown) else ""
    summary = f"Checkpoints of run {run_id}: {len(made)}{left}"
    rows = [
        f"| {each.short_id} | {_time(each.at)} | {inline_code(each.key.work, 60)} | {_cause(each, made)} | "
        f"{each.files} | {each.changed} | {escape(each.said, _WORDS)} |"
        for each in shown
    ]
    head = "| checkpoint | at (UTC) | work | why | files | changed | said |"
    table = [head, "| --- | --- | --- | --- | --- | --- | --- |", *rows]
    return "\n".join(["<details>", f"<summary>{summary}</summary>", "", *table, "", "</details>"])


def render_exceeded(exceeded: ExceededLimit | None) -> str:
    """One line of Markdown about how an agent's work is kept; empty where nothing is wrong."""
    if exceeded is None:
        return ""
    what, then = _explain_exceeded(replace(exceeded, why=escape(exceeded.why.rstrip("."), _WORDS)))
    return f"**{what}:** {then}"


def describe_exceeded(exceeded: ExceededLimit | None) -> str:
    """The same as plain text."""
    return "" if exceeded is None else ": ".join(_explain_exceeded(exceeded))


def _explain_exceeded(exceeded: ExceededLimit) -> tuple[str, str]:
    """What is wrong; the figure, the limit, and what follows."""
    share = f"{exceeded.times} of {exceeded.of} checkpoints"
    figure = f"more than {exceeded.limit:g} s ({exceeded.worst:.1f} s at most)"
    match exceeded.problem:
        case KeepingProblem.failed:
            return "The agent's work is not kept as it should be", (
                f"{share} could not be made, the last one for this reason: {exceeded.why.rstrip('.')}. If the agent "
                "ends early, what it did since the last good one is lost."
            )
        case KeepingProblem.slow:
            return "Keeping the agent's work is slow", (
                f"{share} took {figure}. Nothing is lost. The machine is busy, or the change large; a larger "
                "`execution.checkpoint_seconds` makes fewer of them."
            )
        case KeepingProblem.paused:
            return "The agent is held up", (
                f"it stood still for {figure} at {share}. A larger `execution.checkpoint_seconds` makes fewer of them."
            )


def describe_mode(mode: ExecutionMode | None, *, is_asked: bool) -> str:
    """The mode in which a run changes files, and who chose it; empty if it is not known.

    :param is_asked: whether somebody asked for it; otherwise the configuration says so.
    """
    return "" if mode is None else f"{mode}, {'as asked for' if is_asked else 'by the configuration'}"


def confirm_rollback(done: CompletedRollback) -> str:
    """The receipt for ``rollback``."""
    what = ", ".join(map(inline_path, done.made.paths)) if done.made.paths else "The work"
    changed = done.made.changed
    differs = "1 file differs" if changed == 1 else f"{changed} files differ"
    verb = "are" if len(done.made.paths) > 1 else "is"
    return (
        f"{what} {verb} as at `{done.target.short_id}` ({_time(done.target.at)} UTC) again: {differs} from before. "
        f"{_describe_next(done.run, done.waiting)} Nothing is lost: `/forge rollback {done.before.short_id}` undoes "
        "this."
    )


def _describe_next(run: Run, waiting: Sequence[Gate]) -> str:
    if run.state.is_final:
        return "The run has ended; `/forge resume` lets it go on from there."
    if waiting:
        answers = " or ".join(inline_code(gate.request.options[0].command) for gate in waiting)
        return f"The run waits for a person; its next attempt begins there after {answers}."
    if run.state is RunState.waiting:
        return "The run is waiting; when it goes on, the agent is started from there."
    return "The agent is stopped, and started again from there within seconds."


def refuse_rollback(refusal: RollbackRefusal) -> str:
    """For a roll-back that is not carried out."""
    named = inline_code(refusal.found[0].short_id if len(refusal.found) == 1 else refusal.asked)
    match refusal.problem:
        case RollbackProblem.unknown:
            return f"There is no checkpoint {named} here. `/forge history` lists those of the newest run."
        case RollbackProblem.ambiguous:
            ids = ", ".join(f"`C-{each.id}` ({each.at:%Y-%m-%d} {_time(each.at)} UTC)" for each in refusal.found)
            return f"More than one checkpoint ends like {named}, so nothing was done. Give the whole id: {ids}."
        case RollbackProblem.untouched:
            paths = ", ".join(map(inline_path, refusal.paths))
            verb = "are" if len(refusal.paths) > 1 else "is"
            return (
                f"{paths} {verb} changed neither now nor at {named}, so nothing was done. Name files from the root of "
                "the repository, in quotes if their names have spaces."
            )
        case _:
            return _refuse_state(refusal, named)


def _refuse_state(refusal: RollbackRefusal, named: str) -> str:
    run = refusal.run
    match refusal.problem:
        case RollbackProblem.elsewhere:
            number = "another" if run is None else f"#{run.number}"
            return f"{named} belongs to the run of {number}, so nothing was done. Write the command there."
        case RollbackProblem.over:
            ended = "" if run is None else f" ({describe_state(run)})"
            return (
                f"The run of {named} is over{ended}, so nothing would come of it. Where it opened a pull request, ask "
                "there for another change or take a commit back with `git revert`; `/forge run` begins anew."
            )
        case RollbackProblem.finished:
            return (
                f"The work of {named} is finished and committed, so nothing would come of it. Once the pull request is "
                "there, ask on it for another change or take the commit back with `git revert`."
            )
        case RollbackProblem.same:
            return f"The work is as at {named} already, so there is nothing to take back."
        case RollbackProblem.moved:
            return "New checkpoints were made while this was tried, so nothing was done. Write the command again."
        case _:
            return (
                f"The checkpoints up to {named} are not as they were written, so nothing was restored from them. "
                "`/forge run` begins anew."
            )


def _cause(checkpoint: WorkCheckpoint, known: Sequence[WorkCheckpoint]) -> str:
    restored = next((each for each in known if each.id == checkpoint.restores), None)
    return escape(describe_cause(checkpoint, restored), _WORDS)


def _name(changed: Mapping[str, Sequence[str]], checkpoint: WorkCheckpoint) -> str:
    paths = changed.get(checkpoint.id, ())
    more = f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else ""
    return ", ".join(inline_path(path, 80) for path in paths[:_NAMED]) + more


def _time(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%H:%M:%S")


@dataclass(frozen=True)
class DiffRoom:
    """How much of a diff a page has room for.

    :param compared: bytes of the files that are compared, on both sides.
    """

    lines: int = 3_000
    characters: int = 3_000_000
    compared: int = 30_000_000


@dataclass(frozen=True)
class ShownDiff:
    """A diff on a page.

    :param lines: each with ``added``, ``removed``, ``place`` or nothing.
    :param left_out: what is not shown; empty if everything is.
    """

    lines: Sequence[tuple[str, str]] = ()
    left_out: str = ""


def fit_diff(files: Iterable[ChangedFile], room: DiffRoom) -> ShownDiff:
    """As much of a diff as there is room for, and what is left out."""
    lines: list[tuple[str, str]] = []
    left_files = left_lines = characters = compared = 0
    for file in files:
        compared += sum(len(side) for side in (file.before, file.after) if side is not None)
        if len(lines) >= room.lines or characters > room.characters or compared > room.compared:
            left_files += 1
            continue
        for line in render_file(file):
            characters += min(len(line), _LONGEST)
            if len(lines) < room.lines and characters <= room.characters:
                kind = "place" if line.startswith(("--- ", "+++ ")) else _KINDS.get(line[:1], "")
                lines.append((_shorten(line), kind))
            else:
                left_lines += 1
    left = [name_count(number, noun) for number, noun in ((left_files, "whole file"), (left_lines, "line")) if number]
    return ShownDiff(lines, " and ".join(left))


def _shorten(line: str) -> str:
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}… and {len(line) - _LONGEST:,} characters more"


def name_change(file: ChangedFile) -> str:
    """A changed file's path, and whether it is new or gone."""
    how = " (new)" if file.is_new else " (deleted)" if file.is_gone else ""
    return f"{flatten_redacted(file.path)}{how}"


def render_file(file: ChangedFile) -> Iterator[str]:
    """What changed in one file: lines of a unified diff, or why there are none."""
    path = flatten_redacted(file.path)
    if file.old_mode not in {None, file.mode} and not file.is_new:
        yield f"{path}: mode {file.old_mode} before, {file.mode} now"
    before, after = _read_text(file.before), _read_text(file.after)
    if before is None or after is None:
        yield f"{path}: no text, or too long: {_size(file.before)} before, {_size(file.after)} now"
        return
    old, new = "/dev/null" if file.is_new else f"a/{path}", "/dev/null" if file.is_gone else f"b/{path}"
    lines = _compare(_split(before), _split(after), old, new)
    if lines is None:
        yield f"{path}: too much differs to compare it here: {_size(file.before)} before, {_size(file.after)} now"
        return
    if not lines and file.before != file.after:
        is_empty = not (file.before or file.after)
        yield f"{path}: {'an empty file' if is_empty else 'only what is masked here'} differs"
    for line in lines:
        yield strip_invisible(line.removesuffix("\n")).replace("\n", " ")
        if not line.endswith("\n"):
            yield "\\ No newline at end of file"


def _compare(before: list[str], after: list[str], old: str, new: str) -> list[str] | None:
    """Lines of a unified diff; None if too many lines differ. Only what lies between equal beginnings and ends counts.

    :param old: name of the file before; ``new``: now.
    """
    head = _count_equal(zip(before, after, strict=False))
    longest = min(len(before), len(after)) - head
    tail = _count_equal(islice(zip(reversed(before), reversed(after), strict=False), longest))
    if len(before) + len(after) - 2 * (head + tail) > _MOST_LINES:
        return None
    skipped, left = max(head - _CONTEXT, 0), max(tail - _CONTEXT, 0)
    was, now = (lines[skipped : len(lines) - left] for lines in (before, after))
    return [_move_place(line, skipped) for line in difflib.unified_diff(was, now, old, new, n=_CONTEXT)]


def _count_equal(pairs: Iterable[tuple[str, str]]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _move_place(line: str, lines: int) -> str:
    """A line of a diff; where it is the head of a passage, that passage begins so many lines later."""
    if not line.startswith("@@"):
        return line
    return re.sub(r"(?<=[-+])\d+", lambda match: str(int(match[0]) + lines), line)


def _read_text(content: bytes | None) -> str | None:
    """The text without secrets, empty for a file that is not there; None if it is no text, or too long."""
    if content is None:
        return ""
    if len(content) > _LARGEST or b"\0" in content:
        return None
    try:
        return redact_outgoing(content.decode())
    except UnicodeDecodeError:
        return None


def _split(text: str) -> list[str]:
    """Its lines as git counts them, each with its end."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def _size(content: bytes | None) -> str:
    return "not there" if content is None else f"{len(content):,} bytes"
