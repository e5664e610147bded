"""Decides at which checkpoint the work of an agent is taken: a roll-back counts until then, and is refused after it."""

from dataclasses import dataclass

from domain.runs.patches import NO_CHANGES, ChangeSet, Worked
from domain.runs.work_checkpoint import (
    ENDS,
    BrokenCheckpoint,
    CheckpointCause,
    CheckpointDetails,
    WorkCheckpoint,
    WorkKey,
    find_taken_back,
    load_states,
    shrink,
)
from memory.runs import work_checkpoints
from memory.runs.work_checkpoints import ChainMoved, CheckpointTooLarge
from pipeline.durable.steps import run_outside_journal
from pipeline.issue.coding.work_item import load_history
from pipeline.run_context import RunContext


@dataclass(frozen=True)
class WorkAcceptance:
    """The end of one piece of work.

    :param work: names it; ``base`` is the SHA of the commit that it changes.
    """

    context: RunContext
    work: str
    base: str

    @property
    def key(self) -> WorkKey:
        return WorkKey(run_id=self.context.run.id, work=self.work, base=self.base)

    async def respect_rollback(self, kept: int, change: ChangeSet, worked: Worked) -> tuple[ChangeSet, Worked]:
        """The change and the report of an agent; what a person left of it, if the work was taken back since.

        :param kept: the number of the checkpoint that the agent ended with.
        """
        taken_back = await self.context.journal.step("was it taken back", self._find_taken_back, kept)
        if taken_back is None:
            return change, worked
        left = await run_outside_journal(self._load_state, taken_back)
        why = f"{taken_back.by or 'Somebody'} took the work back to an earlier state."
        return left, worked.model_copy(update={"is_done": False, "not_done": why})

    async def accept(self, change: ChangeSet, said: str) -> bool:
        """Keep that this change is taken, so that nobody takes it back any more; False if somebody just did."""
        return await self.context.journal.step("keep that the work is taken", self._accept, change, said)

    async def close(self) -> None:
        """Keep that somebody else carries the work out from the beginning."""
        await self.context.journal.step("keep that others do it", self._close)

    async def _find_taken_back(self, kept: int) -> WorkCheckpoint | None:
        chain = await work_checkpoints.load_chain(self.context.database, self.key) if kept else ()
        return find_taken_back(chain, kept)

    async def _load_state(self, checkpoint: WorkCheckpoint) -> ChangeSet:
        return load_states(await work_checkpoints.load_chain(self.context.database, self.key))[checkpoint.id]

    async def _accept(self, change: ChangeSet, said: str) -> bool:
        try:
            history = await load_history(self.context.database, self.key)
        except BrokenCheckpoint:  # then nothing can be restored either
            return True
        delta = change.since(history.state)
        is_of_person = history.newest is not None and history.newest.cause is CheckpointCause.rollback
        if is_of_person and delta.files:
            return False
        details = CheckpointDetails(files=len(change.files), changed=len(delta.files), said=said)
        stored = shrink(delta, history.state)
        try:
            return await self._end(history.newest, CheckpointCause.done, stored, details)
        except CheckpointTooLarge:  # what counts is that there is an end
            return await self._end(history.newest, CheckpointCause.done, NO_CHANGES, details)

    async def _close(self) -> bool:
        newest = await work_checkpoints.find_newest(self.context.database, self.key)
        return await self._end(newest, CheckpointCause.closed, NO_CHANGES, CheckpointDetails())

    async def _end(
        self, newest: WorkCheckpoint | None, cause: CheckpointCause, delta: ChangeSet, details: CheckpointDetails
    ) -> bool:
        """Whether the chain has an end, or needs none."""
        if newest is None or newest.cause in ENDS:
            return True
        context = self.context
        try:
            await work_checkpoints.add(context.database, self.key, newest, cause, delta, details, context.now())
        except ChainMoved:
            return False
        return True
