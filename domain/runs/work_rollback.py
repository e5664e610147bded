"""Decides whether the work of an agent may be taken back to a checkpoint, and what that would change."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from domain.runs.patches import ChangeSet
from domain.runs.run import Run, RunState
from domain.runs.work_checkpoint import ENDS, WorkCheckpoint, restore_state


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
