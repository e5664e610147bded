"""A piece of work for an agent, what was done of it before, and its newest checkpoints."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from agents.coding.implementer import ImplementationTask
from agents.coding.recovery import RecoveryTask
from domain.runs.next_step import SendBack
from domain.runs.patches import NO_CHANGES, ChangeSet, RequiredFix
from domain.runs.work_checkpoint import BrokenCheckpoint, CheckpointCause, Link, WorkCheckpoint, WorkKey, load_states
from memory.db.engine import Database
from memory.runs import work_checkpoints
from messages import checkpoints as texts
from safety.guards import TaskKind
from workspace.patches.refusals import show_path


@dataclass(frozen=True)
class WorkItem:
    """A piece of work that becomes one commit.

    :param key: names it in the journal.
    :param message: of the commit.
    :param first_key: of the first attempt, if this is a later one.
    :param built: what the pieces before it changed.
    :param sent_back: what it is to mend, if a review or the tests sent the change back.
    :param said_before: what the agent answered whose change was sent back.
    :param left: what the attempt before left in the draft, from which a recovery goes on.
    """

    key: str
    task: ImplementationTask
    message: str
    kind: TaskKind = TaskKind.implementation
    first_key: str = ""
    built: ChangeSet = NO_CHANGES
    sent_back: SendBack | None = None
    said_before: str = ""
    left: ChangeSet = NO_CHANGES

    @property
    def work(self) -> str:
        """Names the piece of work, whichever attempt it is."""
        return self.first_key or self.key

    def with_retry(self, attempts: int, why: str) -> "WorkItem":
        """The same piece after failed attempts.

        :param why: the last one failed, one or two sentences.
        """
        failed = RequiredFix(path="", rule=f"attempt {attempts}", message=why)
        task = self.task.model_copy(update={"to_fix": (*self.task.to_fix, failed)})
        return replace(self, key=f"again {attempts} {self.key}", task=task, first_key=self.work)

    def with_recovery(self, number: int, recovery: RecoveryTask, left: ChangeSet) -> "WorkItem":
        """The same piece after a failure was hidden in it.

        :param number: of the attempt to recover, from 1.
        :param left: what the attempt before left in the draft.
        """
        task = self.task.model_copy(update={"recovery": recovery})
        return replace(self, key=f"recovery {number} of {self.key}", task=task, first_key=self.work, left=left)


_FILES = 50


@dataclass
class WorkHistory:
    """The newest checkpoint of a piece of work, and what it holds.

    :param undone: what a person took back with it.
    """

    key: WorkKey
    newest: WorkCheckpoint | None = None
    state: ChangeSet = NO_CHANGES
    undone: ChangeSet = NO_CHANGES

    @property
    def is_done(self) -> bool:
        """Whether the work was finished; only its answer was not stored."""
        return self.newest is not None and self.newest.cause is CheckpointCause.done

    def render(self) -> str:
        """What the agent is told, as data; nothing if it is the first one."""
        if self.newest is None:
            return ""
        lines = ["This task was begun before. Go on from the files as they are now, after you have looked at them."]
        if self.newest.cause is CheckpointCause.rollback:
            lines.append("A person took these files back to an earlier state, so do something else there:")
            lines += _list_files(self.undone)
        if self.state.files:
            lines.append("Changed so far:")
            lines += _list_files(self.state)
        return "\n".join([*lines, ""])


async def load_history(database: Database, key: WorkKey) -> WorkHistory:
    """The history of a piece of work.

    :raises BrokenCheckpoint: it cannot be read as it was written.
    """
    chain = await work_checkpoints.load_chain(database, key)
    if not chain:
        return WorkHistory(key)
    states = load_states(chain)
    newest = chain[-1].checkpoint
    state = states[newest.id]
    before = states[chain[-2].checkpoint.id] if len(chain) > 1 else NO_CHANGES
    return WorkHistory(key, newest, state, state.since(before))


def _list_files(change: ChangeSet) -> list[str]:
    names = [f"- {show_path(file.path)}{' (deleted)' if file.is_gone else ''}" for file in change.files]
    more = len(names) - _FILES
    return [*names[:_FILES], *([f"[{more:,} more are left out]"] if more > 0 else [])]


async def describe_recent(database: Database, run_id: str, work: str) -> str:
    """The newest checkpoints of this piece of work, as Markdown; empty if there are none."""
    of_work = [each for each in await work_checkpoints.list_of_run(database, run_id) if each.key.work == work]
    if not of_work:
        return ""
    chain = await work_checkpoints.load_chain(database, of_work[-1].key)
    paths = await asyncio.to_thread(list_changed_paths, chain)
    return texts.render_recent([link.checkpoint for link in chain], paths)


def list_changed_paths(chain: Sequence[Link]) -> Mapping[str, Sequence[str]]:
    """By the id of a checkpoint: the files that changed since the one before; nothing if that cannot be told.

    :param chain: all checkpoints of one piece of work, in order.
    """
    try:
        states = load_states(chain)
    except BrokenCheckpoint:
        return {}
    reached = [NO_CHANGES, *(states[link.checkpoint.id] for link in chain)]
    changed = [[file.path for file in now.since(before).files] for before, now in pairwise(reached)]
    return {link.checkpoint.id: paths for link, paths in zip(chain, changed, strict=True)}
