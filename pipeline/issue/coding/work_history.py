"""What was done of a piece of work before: the checkpoint where an agent goes on, and what it is told about that."""

from dataclasses import dataclass

from domain.runs.patches import NO_CHANGES, ChangeSet
from domain.runs.work_checkpoint import CheckpointCause, WorkCheckpoint, WorkKey, load_states
from memory.db.engine import Database
from memory.runs import work_checkpoints
from workspace.patches.errors import show_path

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
