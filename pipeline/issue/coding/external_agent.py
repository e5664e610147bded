"""Has a command-line agent of another make carry out a task, where one is configured and can work here."""

from dataclasses import dataclass

from agents.coding.external import ExternalWork, build_external_assignment
from agents.llm.models import LanguageModel
from agents.loop.loop import Done, Stopped, Stuck
from domain.config.configuration import Configuration
from domain.gates import digest
from domain.runs.patches import Worked
from domain.text.redaction import redact_outgoing
from pipeline.durable.steps import run_outside_journal
from pipeline.issue.coding.external_work import work_in_shadow
from pipeline.issue.coding.mode_notice import add_notice
from pipeline.issue.coding.own_agent import CodingAgent, build_calls
from pipeline.issue.coding.work_acceptance import WorkAcceptance
from pipeline.issue.coding.work_item import WorkItem
from pipeline.run_context import RunContext
from workspace.draft import Draft
from workspace.patches.refusals import PatchRefused
from workspace.sandbox.sandbox import BUBBLEWRAP


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
            await self._acceptance(item, draft).close()
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
        return await self._acceptance(item, draft).accept(await draft.change(), said)

    async def give_away(self, item: WorkItem, draft: Draft) -> None:
        """Keep that another agent carries a piece of work out."""
        await self._acceptance(item, draft).close()

    def _acceptance(self, item: WorkItem, draft: Draft) -> WorkAcceptance:
        return WorkAcceptance(self.context, item.work, draft.base)

    async def _fall_back(
        self, item: WorkItem, draft: Draft, model: LanguageModel, notice: str
    ) -> Done[Worked] | Stuck | Stopped:
        return add_notice(await CodingAgent(self.context, self.configuration).work(item, draft, model), notice)

    async def _delegate(self, item: WorkItem, draft: Draft, model: LanguageModel) -> ExternalWork:
        """What it changed and reports. Once it is done it does not work again: the change is kept with the run."""
        never_send = self.configuration.review.never_send
        assignment = build_external_assignment(f"{item.key} 1", item.task, redact_outgoing, says_words=not never_send)
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


_NO_SANDBOX = "`execution.mode: interactive` needs sandbox level 3; at level {} Forge's own agent worked."
