"""Checkpoints of an agent's work, in a chain that can only grow, and whether the work may be taken back to one."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from domain.errors import ForgeError
from domain.runs.patches import NO_CHANGES, ChangeSet
from domain.runs.run import Run, RunState
from domain.value import Value, shorten_id


class CheckpointCause(StrEnum):
    """Why a checkpoint was made."""

    time = "time"  # so much time had passed
    changes = "changes"  # so many files had changed
    stopped = "stopped"  # the agent came to an end without finishing
    done = "done"  # the agent finished, and its change was taken
    closed = "closed"  # another agent carries the work out, from the beginning
    rollback = "rollback"  # a person took the work back to an earlier state


ENDS = frozenset({CheckpointCause.done, CheckpointCause.closed})
"""No checkpoint comes after these, and none is restored."""


class WorkKey(Value):
    """The piece of work that a chain of checkpoints belongs to.

    :param work: names the piece within the run.
    :param base: SHA of the commit that it changes.
    """

    run_id: str
    work: str
    base: str


class CheckpointDetails(Value):
    """What is known of a checkpoint beside its content and its place.

    :param files: changed since the base.
    :param changed: changed since the checkpoint before.
    :param refused: what was not kept because it may not be taken, a line each.
    :param said: the last words of the agent.
    :param spent_usd: what the run had spent.
    :param seconds: that it took; after ``paused_seconds`` the agent stood still.
    """

    files: int = 0
    changed: int = 0
    refused: tuple[str, ...] = ()
    said: str = ""
    spent_usd: float = 0.0
    seconds: float = 0.0
    paused_seconds: float = 0.0


class WorkCheckpoint(CheckpointDetails):
    """One checkpoint, without the content of its files.

    :param number: within its piece of work, from 1.
    :param digest: of its own content and of the digest before it.
    :param restores: of a roll-back: the id of the checkpoint whose state it restores.
    :param paths: of a roll-back: the only files that it restores; all if there are none.
    :param by: of a roll-back: who asked for it.
    :param request: of a roll-back: names the request for it, so that it is carried out once.
    """

    id: str
    key: WorkKey
    number: int
    cause: CheckpointCause
    digest: str
    at: datetime
    restores: str | None = None
    paths: tuple[str, ...] = ()
    by: str = ""
    request: str = ""

    @property
    def short_id(self) -> str:
        """Its name for people."""
        return shorten_id("C", self.id)


class BrokenCheckpoint(ForgeError):
    """A checkpoint cannot be read as it was written."""


@dataclass(frozen=True)
class Link:
    """A checkpoint and what it stores: the change since the one before it, as it was written.

    :param content: JSON of a change set; empty for a roll-back.
    """

    checkpoint: WorkCheckpoint
    content: bytes


def make_digest(before: str, content: bytes, restores: str | None, paths: Sequence[str]) -> str:
    """The digest of a checkpoint.

    :param before: the digest of the one before it; empty for the first.
    """
    told = "\0".join([before, restores or "", *paths])
    return hashlib.sha256(told.encode(errors="surrogatepass") + b"\0\0" + content).hexdigest()


def load_states(chain: Sequence[Link]) -> Mapping[str, ChangeSet]:
    """What had changed since the base at each checkpoint, by its id.

    :param chain: all checkpoints of one piece of work, in order.
    :raises BrokenCheckpoint: one of them is not as it was written, or is missing.
    """
    states: dict[str, ChangeSet] = {}
    state, digest = NO_CHANGES, ""
    for number, link in enumerate(chain, 1):
        checkpoint = link.checkpoint
        digest = make_digest(digest, link.content, checkpoint.restores, checkpoint.paths)
        if digest != checkpoint.digest or checkpoint.number != number:
            raise _build_error(checkpoint)
        if checkpoint.restores is None:
            state = state.then(_parse(link))
        elif checkpoint.restores in states:
            state = restore_state(state, states[checkpoint.restores], checkpoint.paths)
        else:
            raise _build_error(checkpoint)
        states[checkpoint.id] = state
    return states


def shrink(delta: ChangeSet, earlier: ChangeSet) -> ChangeSet:
    """The change without what files were before it, where the chain tells that.

    :param earlier: the state that it changes.
    """
    known = {file.path for file in earlier.files}
    bare: dict[str, None] = {"before": None, "old_mode": None}
    return ChangeSet(files=tuple(file.model_copy(update=bare) if file.path in known else file for file in delta.files))


def find_taken_back(chain: Sequence[Link], number: int) -> WorkCheckpoint | None:
    """The roll-back that came after a checkpoint, before anything else did; the last of several in a row.

    :param number: of the checkpoint.
    """
    found = None
    for link in chain[number:]:
        if link.checkpoint.cause is not CheckpointCause.rollback:
            break
        found = link.checkpoint
    return found


def _parse(link: Link) -> ChangeSet:
    try:
        return ChangeSet.model_validate_json(link.content)
    except ValueError:
        raise _build_error(link.checkpoint) from None


def restore_state(now: ChangeSet, earlier: ChangeSet, paths: Sequence[str]) -> ChangeSet:
    """The state with some files, or all, as they were.

    :param paths: of these files; all if there are none.
    """
    if not paths:
        return earlier
    files = (*now.only({file.path for file in now.files} - {*paths}).files, *earlier.only(paths).files)
    return ChangeSet(files=tuple(sorted(files, key=lambda file: file.path)))


def _build_error(checkpoint: WorkCheckpoint) -> BrokenCheckpoint:
    return BrokenCheckpoint(
        f"The checkpoint {checkpoint.short_id} is not as it was written, so nothing was restored from it.",
        "Write /forge run to begin anew.",
    )


class RollbackProblem(StrEnum):
    """Why a roll-back is refused."""

    unknown = "unknown"  # there is no such checkpoint here
    ambiguous = "ambiguous"  # several ids end like this
    elsewhere = "elsewhere"  # it belongs to another issue
    over = "over"  # its run has ended, and cannot be resumed
    finished = "finished"  # its piece of work is committed, or the run went on to another one
    untouched = "untouched"  # a file that is named is changed at neither end
    same = "same"  # nothing would differ
    moved = "moved"  # newer checkpoints kept coming in between
    broken = "broken"  # a checkpoint is not as it was written


@dataclass(frozen=True)
class RollbackRefusal:
    """A roll-back that is not carried out.

    :param asked: the id as it was written.
    :param found: the checkpoints that it may mean.
    :param run: that the checkpoint belongs to.
    :param paths: that are changed at neither end.
    """

    problem: RollbackProblem
    asked: str
    found: tuple[WorkCheckpoint, ...] = ()
    run: Run | None = None
    paths: tuple[str, ...] = ()


@dataclass(frozen=True)
class RollbackPlan:
    """A roll-back that may be carried out.

    :param newest: the checkpoint that it follows.
    :param files: that differ from the base afterwards; ``changed``: from the state before it.
    """

    newest: WorkCheckpoint
    target: WorkCheckpoint
    paths: tuple[str, ...]
    files: int
    changed: int


@dataclass(frozen=True)
class RollbackFacts:
    """What is known when somebody asks for a roll-back.

    :param asked: the id as it was written.
    :param target: the checkpoint with this id.
    :param run: that it belongs to.
    :param is_newest_run: whether no newer run works on the same issue.
    :param of_run: all checkpoints of the run, in order.
    :param states: what had changed since the base at each checkpoint of the piece of work, by its id.
    """

    asked: str
    target: WorkCheckpoint
    run: Run
    is_newest_run: bool
    of_run: Sequence[WorkCheckpoint]
    states: Mapping[str, ChangeSet]

    @property
    def newest(self) -> WorkCheckpoint:
        """The newest checkpoint of the piece of work."""
        return [each for each in self.of_run if each.key == self.target.key][-1]


def decide_rollback(facts: RollbackFacts, paths: Sequence[str] = ()) -> RollbackPlan | RollbackRefusal:
    """Whether the work may be taken back.

    :param paths: the only files that are taken back; all if there are none.
    """
    newest, target, asked = facts.newest, facts.target, facts.asked
    problem = find_obstacle(facts)
    if problem is not None:
        return RollbackRefusal(problem, asked, (target,), facts.run)
    now, earlier = facts.states[newest.id], facts.states[target.id]
    touched = {file.path for state in (now, earlier) for file in state.files}
    wrong = tuple(path for path in paths if path not in touched)
    if wrong:
        return RollbackRefusal(RollbackProblem.untouched, asked, (target,), facts.run, wrong)
    restored = restore_state(now, earlier, paths)
    changed = len(restored.since(now).files)
    if not changed:
        return RollbackRefusal(RollbackProblem.same, asked, (target,), facts.run)
    return RollbackPlan(newest, target, tuple(dict.fromkeys(paths)), len(restored.files), changed)


def find_obstacle(facts: RollbackFacts) -> RollbackProblem | None:
    """Why no state of this piece of work can be restored any more, whichever it is; None if it can."""
    if not can_go_on(facts.run, is_newest=facts.is_newest_run):
        return RollbackProblem.over
    has_moved_on = facts.of_run[-1].key != facts.target.key
    if facts.newest.cause in ENDS or has_moved_on:
        return RollbackProblem.finished
    return None


def can_go_on(run: Run, *, is_newest: bool) -> bool:
    """Whether a run works, waits, or can be resumed with the work that it has.

    :param is_newest: whether no newer run works on the same issue.
    """
    return not run.state.is_final or (is_newest and run.state is not RunState.completed)
