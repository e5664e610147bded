"""What a page about agents' checkpoints shows: the pieces of a run's work, or one checkpoint and what led to it.

Everything in a view is plain text on one line, without secrets and invisible characters. It is not escaped: who renders
a view does that.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from domain.runs.patches import NO_CHANGES, ChangedFile, ChangeSet
from domain.runs.run import ExecutionMode, Run
from domain.runs.work_checkpoint import WorkCheckpoint, WorkKey
from messages.checkpoints import describe_cause, describe_exceeded, describe_mode
from messages.commands import describe_state
from messages.work_diff import flatten, name_change, render_file
from safety.checkpoint_limits import ExceededLimit

_NAMED = 20  # files of one checkpoint
_LONGEST = 300  # characters of a name
_WORDS = 2_000  # characters of what an agent said, and of a line of what was not kept
_LINE = 1_000  # characters of a line of a diff
_MARKUP = 40  # characters that a page adds to a line
_KINDS = {"+": "added", "-": "removed", "@": "place", "\\": "place"}


@dataclass
class PageRoom:
    """How much more fits on a page; whoever adds to the page takes from it.

    :param checkpoints: that are listed.
    :param lines: of the files that are compared, on both sides; ``read``: their bytes.
    :param diff_lines: of one diff.
    :param characters: of all diffs.
    """

    checkpoints: int = 300
    lines: int = 400_000
    read: int = 30_000_000
    diff_lines: int = 3_000
    characters: int = 3_000_000

    def take_file(self, file: ChangedFile) -> bool:
        """Whether a file can still be compared."""
        if min(self.read, self.lines, self.characters) <= 0:
            return False
        sides = [side for side in (file.before, file.after) if side is not None]
        self.read -= sum(map(len, sides))
        self.lines -= sum(side.count(b"\n") for side in sides)
        return min(self.read, self.lines) >= 0

    def take_line(self, line: str) -> bool:
        """Whether a line of a diff still fits."""
        self.characters -= len(line) + _MARKUP
        return self.characters >= 0


@dataclass(frozen=True)
class RunFacts:
    """The run that a page is about.

    :param run: None if it is not known any more.
    :param mode: in which it changes files; None if that is not known.
    """

    id: str
    run: Run | None = None
    mode: ExecutionMode | None = None


@dataclass(frozen=True)
class DiffLine:
    """A line of a diff.

    :param kind: ``added``, ``removed``, ``place`` or nothing.
    """

    text: str
    kind: str = ""


@dataclass(frozen=True)
class WorkDiff:
    """What differs between two moments of a piece of work.

    :param title: says between which.
    :param lines: none if nothing differs.
    :param left_out: what is not shown, and how to see it.
    """

    title: str
    lines: Sequence[DiffLine] = ()
    left_out: str = ""


@dataclass(frozen=True)
class ShownCheckpoint:
    """A checkpoint in words.

    :param anchor: its name within the page.
    :param changed: names of the files that changed since the one before.
    """

    anchor: str
    name: str
    number: int
    at: datetime
    why: str
    files: int
    changes: int
    cost: str
    took: str
    said: str
    refused: Sequence[str]
    changed: Sequence[str] = ()
    diffs: Sequence[WorkDiff] = ()

    @property
    def time(self) -> str:
        return f"{self.at.astimezone(UTC):%Y-%m-%d %H:%M:%S}"


@dataclass(frozen=True)
class ShownWork:
    """A piece of work.

    :param remarks: what is not shown, and why.
    """

    anchor: str
    name: str
    base: str
    checkpoints: Sequence[ShownCheckpoint] = ()
    remarks: Sequence[str] = ()


@dataclass(frozen=True)
class WorkPage:
    """A page.

    :param facts: of the run: names and values.
    :param is_open: whether its diffs are unfolded.
    """

    title: str
    facts: Sequence[tuple[str, str]]
    works: Sequence[ShownWork]
    remarks: Sequence[str] = field(default=())
    is_open: bool = False


def view_run(run: RunFacts, works: Sequence[ShownWork], exceeded: ExceededLimit | None = None) -> WorkPage:
    """The page of a run.

    :param works: its pieces of work, in order.
    :param exceeded: a limit on keeping its work.
    """
    none = "" if works else "This run has no checkpoints of an agent's work."
    remarks = [part for part in (none, flatten(describe_exceeded(exceeded))) if part]
    return WorkPage(f"Checkpoints of run {run.id}", _list_facts(run), works, remarks)


def view_work(
    made: Sequence[WorkCheckpoint], states: Mapping[str, ChangeSet] | None, room: PageRoom, number: int = 1
) -> ShownWork:
    """A piece of work, with the diffs of each of its checkpoints. The newest ones get what room there is.

    :param made: all its checkpoints, in order.
    :param states: the changes since the base, by the id of a checkpoint; None if they cannot be read, or need not be.
    :param number: of the piece of work within its page.
    """
    shown: list[ShownCheckpoint] = []
    for place in range(len(made) - 1, -1, -1):
        if room.checkpoints <= 0:
            break
        room.checkpoints -= 1
        shown.insert(0, _view_step(made, place, states, room))
    remarks = list(_remark_on_work(made, len(shown), has_states=states is not None))
    return replace(_name_work(made[0].key, number), checkpoints=shown, remarks=remarks)


def view_checkpoint(
    made: Sequence[WorkCheckpoint],
    states: Mapping[str, ChangeSet],
    run: RunFacts,
    shown: WorkCheckpoint,
    since: WorkCheckpoint | None,
    room: PageRoom,
) -> WorkPage:
    """The page of one checkpoint, or of what differs between two of the same piece of work.

    :param made: all checkpoints of their piece of work, in order.
    :param since: where the diff begins; None: the base.
    """
    diff = _view_diff(states, since, shown, room)
    views = [_view_facts(shown, made, states, (diff,))]
    if since is not None and since != shown:
        views.insert(0, _view_facts(since, made, states))
    title = f"Checkpoint {shown.short_id}" + ("" if since is None else f" compared with {since.short_id}")
    work = replace(_name_work(shown.key, 1), checkpoints=views)
    return WorkPage(title, _list_facts(run), [work], is_open=True)


def _name_work(key: WorkKey, number: int) -> ShownWork:
    return ShownWork(f"work-{number}", flatten(key.work), key.base)


def _list_facts(about: RunFacts) -> list[tuple[str, str]]:
    facts, run = [("Run", about.id)], about.run
    if run is not None:
        facts += [("Repository", f"{run.repository.full_name}#{run.number}"), ("State", describe_state(run))]
        facts.append(("Mode", describe_mode(about.mode, is_asked=run.mode is not None)))
    return [(name, flatten(value)) for name, value in facts if value]


def _remark_on_work(made: Sequence[WorkCheckpoint], shown: int, *, has_states: bool) -> Iterator[str]:
    left = len(made) - shown
    how = f"`forge runs --checkpoints {made[0].key.run_id}` lists all of them."
    if left:
        yield f"{left:,} of {len(made):,} checkpoints, the oldest ones, are left out to keep this page small. {how}"
    if shown and not has_states:
        yield (
            "What these checkpoints hold is not as it was written, so it is not shown and cannot be restored. "
            "Write /forge run to begin anew."
        )


def _view_step(
    made: Sequence[WorkCheckpoint], place: int, states: Mapping[str, ChangeSet] | None, room: PageRoom
) -> ShownCheckpoint:
    """A checkpoint of a chain, with its diffs from the one before and from the base."""
    checkpoint = made[place]
    if states is None:
        return _view_facts(checkpoint, made, {})
    before = made[place - 1] if place else None
    diffs = [_view_diff(states, before, checkpoint, room)]
    if before is not None:
        diffs.append(_view_diff(states, None, checkpoint, room))
    return _view_facts(checkpoint, made, states, diffs)


def _view_facts(
    checkpoint: WorkCheckpoint,
    made: Sequence[WorkCheckpoint],
    states: Mapping[str, ChangeSet],
    diffs: Sequence[WorkDiff] = (),
) -> ShownCheckpoint:
    restored = next((each for each in made if each.id == checkpoint.restores), None)
    is_rollback = checkpoint.restores is not None
    paused = f", paused {checkpoint.paused_seconds:.3f} s" if checkpoint.paused_seconds else ""
    return ShownCheckpoint(
        anchor=f"C-{checkpoint.id}",
        name=checkpoint.short_id,
        number=checkpoint.number,
        at=checkpoint.at,
        why=flatten(describe_cause(checkpoint, restored))[:_WORDS],
        files=checkpoint.files,
        changes=checkpoint.changed,
        cost="" if is_rollback else f"{checkpoint.spent_usd:.2f} USD",
        took="" if is_rollback else f"{checkpoint.seconds:.3f} s{paused}",
        said=flatten(checkpoint.said)[:_WORDS],
        refused=[flatten(each)[:_WORDS] for each in checkpoint.refused],
        changed=_name_files(checkpoint, made, states),
        diffs=diffs,
    )


def _name_files(
    checkpoint: WorkCheckpoint, made: Sequence[WorkCheckpoint], states: Mapping[str, ChangeSet]
) -> list[str]:
    """The files that changed since the checkpoint before."""
    state = states.get(checkpoint.id)
    if state is None:
        return []
    before = made[checkpoint.number - 2] if checkpoint.number > 1 else None
    files = state.since(NO_CHANGES if before is None else states[before.id]).files
    more = [f"and {len(files) - _NAMED:,} more"] if len(files) > _NAMED else []
    return [*(_shorten(name_change(file)) for file in files[:_NAMED]), *more]


def _shorten(path: str) -> str:
    return path if len(path) <= _LONGEST else f"…{path[1 - _LONGEST :]}"


def _view_diff(
    states: Mapping[str, ChangeSet], since: WorkCheckpoint | None, shown: WorkCheckpoint, room: PageRoom
) -> WorkDiff:
    begins_at = NO_CHANGES if since is None else states[since.id]
    origin = f"the base {shown.key.base[:7]}" if since is None else since.short_id
    files = sorted(states[shown.id].since(begins_at).files, key=lambda file: file.path)
    if not files:
        return WorkDiff(f"Nothing differs from {origin}.")
    lines, left = _collect_lines(files, room)
    title = f"{shown.short_id} since {origin}: {_count(len(files), 'file')}"
    return WorkDiff(title, lines, _tell_left(*left, shown, since) if any(left) else "")


def _collect_lines(files: Sequence[ChangedFile], room: PageRoom) -> tuple[list[DiffLine], tuple[int, int]]:
    """The lines that fit; of those that do not: how many whole files, and how many lines of other files."""
    lines: list[DiffLine] = []
    left_files = left_lines = 0
    for file in files:
        if len(lines) >= room.diff_lines or not room.take_file(file):
            left_files += 1
            continue
        for line in render_file(file):
            if len(lines) < room.diff_lines and room.take_line(line[:_LINE]):
                lines.append(_view_line(line))
            else:
                left_lines += 1
    return lines, (left_files, left_lines)


def _view_line(line: str) -> DiffLine:
    kind = _KINDS.get(line[:1], "")
    if line.startswith(("--- ", "+++ ")):
        kind = "place"
    shown = line if len(line) <= _LINE else f"{line[:_LINE]}… and {len(line) - _LINE:,} characters more"
    return DiffLine(shown, kind)


def _tell_left(files: int, lines: int, shown: WorkCheckpoint, since: WorkCheckpoint | None) -> str:
    left = [_count(number, noun) for number, noun in ((files, "whole file"), (lines, "line")) if number]
    command = f"forge runs --checkpoint {shown.short_id}" + ("" if since is None else f" --since {since.short_id}")
    return f"Left out to keep this page small: {' and '.join(left)}. `{command}` prints everything."


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
