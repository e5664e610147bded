"""Has a command-line agent of another make carry out a task, where one is configured and can work here."""

from dataclasses import dataclass

from agents.coding.external import ExternalWork, build_external_assignment
from agents.llm.models import LanguageModel
from agents.loop.loop import Done, Stopped, Stuck
from domain.config.configuration import Configuration
from domain.gates import digest
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
from pipeline.durable.journal import run_outside_journal
from pipeline.issue.coding.external_work import work_in_shadow
from pipeline.issue.coding.own_agent import add_notice, build_calls, work_alone
from pipeline.issue.coding.work_item import WorkItem, load_history
from pipeline.run_context import RunContext
from workspace.draft import Draft
from workspace.patches.refusals import PatchRefused
from workspace.sandbox.sandbox import BUBBLEWRAP

_NO_SANDBOX = "`execution.mode: interactive` needs sandbox level 3; at level {} Forge's own agent worked."


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

    async def close(self) -> bool:
        """Keep that somebody else carries the work out from the beginning."""
        newest = await work_checkpoints.find_newest(self.context.database, self.key)
        return await self._end(newest, CheckpointCause.closed, NO_CHANGES, CheckpointDetails())

    async def _find_taken_back(self, kept: int) -> WorkCheckpoint | None:
        chain = await work_checkpoints.load_chain(self.context.database, self.key) if kept else ()
        return find_taken_back(chain, kept)

    async def _load_state(self, checkpoint: WorkCheckpoint) -> ChangeSet:
        return load_states(await work_checkpoints.load_chain(self.context.database, self.key))[checkpoint.id]

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


@dataclass(frozen=True)
class ExternalAgent:
    """The agent that a repository configured, within one run."""

    context: RunContext
    configuration: Configuration

    async def work(self, item: WorkItem, draft: Draft, model: LanguageModel) -> Done[Worked] | Stuck | Stopped:
        """Work on one piece; what changes is in the draft afterwards. Where it cannot work, Forge's own agent does.

        :raises WaitingForGate: if a person has to decide first.
        """
        level = self.context.services.toolbox.sandbox.strongest().level
        if level != BUBBLEWRAP:
            return await self._fall_back(item, draft, model, _NO_SANDBOX.format(level))
        done = await self._delegate(item, draft, model)
        if done.is_broken:
            await self.give_away(item, draft)
            return await self._fall_back(item, draft, model, f"{done.problem} Forge's own agent worked instead.")
        if done.refusal is not None:
            return Stopped(done.refusal.message, done.refusal)
        if done.change is None or done.worked is None:
            return Stuck(done.problem or "The agent left nothing.")
        change, worked = await self._acceptance(item, draft).respect_rollback(done.kept, done.change, done.worked)
        try:
            if change.files:
                await run_outside_journal(draft.replay, [change])
        except PatchRefused as refused:  # it was allowed when the agent made it
            return Stuck(f"What it changed may not be taken any more: {refused.violations[0]}")
        return Done(worked)

    async def take(self, item: WorkItem, draft: Draft, said: str) -> bool:
        """Keep that the work is taken; False if somebody took it back since.

        :param said: what the agent reports.
        """
        acceptance, change = self._acceptance(item, draft), await draft.change()
        return await self.context.journal.step("keep that the work is taken", acceptance.accept, change, said)

    async def give_away(self, item: WorkItem, draft: Draft) -> None:
        """Keep that another agent carries a piece of work out."""
        await self.context.journal.step("keep that others do it", self._acceptance(item, draft).close)

    def _acceptance(self, item: WorkItem, draft: Draft) -> WorkAcceptance:
        return WorkAcceptance(self.context, item.work, draft.base)

    async def _fall_back(
        self, item: WorkItem, draft: Draft, model: LanguageModel, notice: str
    ) -> Done[Worked] | Stuck | Stopped:
        return add_notice(await work_alone(self.context, self.configuration, item, draft, model), notice)

    async def _delegate(self, item: WorkItem, draft: Draft, model: LanguageModel) -> ExternalWork:
        """What it changed and reports. Once it is done it does not work again: the change is kept with the run."""
        never_send = self.configuration.review.never_send
        assignment = build_external_assignment(f"{item.key} 1", item.task, says_words=not never_send)
        calls = build_calls(self.context, self.configuration, item)
        command = self.configuration.agents.implementer.command
        key = self._acceptance(item, draft).key
        name = digest("external", assignment.model_dump_json(), command, draft.base, model.name)
        return await calls.delegate(
            name,
            assignment,
            ExternalWork,
            lambda told: work_in_shadow(
                self.context, self.configuration, told, draft, model, calls.budget, key, item.built
            ),
        )
