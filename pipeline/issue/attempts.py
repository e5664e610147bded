"""The attempts of agents at the pieces of a plan: again with advice, again otherwise, until one may be taken."""

from dataclasses import dataclass
from functools import cached_property
from itertools import count

from agents.llm.models import LanguageModel
from agents.loop.loop import Done, Stopped, Stuck
from domain.config.configuration import Configuration
from domain.runs.patches import NO_CHANGES, Worked
from domain.runs.recovery import AgentMake
from pipeline.issue.coding.external_agent import ExternalAgent
from pipeline.issue.coding.interactive_agent import InteractiveAgent
from pipeline.issue.coding.own_agent import CodingAgent
from pipeline.issue.coding.work_item import WorkItem
from pipeline.issue.draft_commits import DraftBase
from pipeline.issue.help_needed import HelpGate
from pipeline.issue.recovery import Recoveries
from pipeline.issue.run_end import RunEnd, end_unfinished
from pipeline.run_context import RunContext
from workspace.draft import Draft

_Agent = CodingAgent | ExternalAgent | InteractiveAgent
_Outcome = Done[Worked] | Stuck | Stopped | RunEnd


@dataclass(frozen=True)
class Carried:
    """A piece of work that may be taken."""

    draft: Draft
    worked: Worked


@dataclass(frozen=True)
class _Try:
    """One attempt of an agent, and what it made.

    :param outcome: how the run ends if no attempt may begin.
    """

    agent: _Agent
    item: WorkItem
    draft: Draft
    outcome: _Outcome


@dataclass(frozen=True)
class Attempts:
    """The attempts within one run."""

    context: RunContext
    configuration: Configuration

    async def carry_out(self, base: DraftBase, item: WorkItem, model: LanguageModel) -> Carried | RunEnd:
        """What an agent made of a piece, or how the run ends.

        :raises WaitingForGate: nobody answered yet.
        """
        while True:
            tried = await self._try_with_help(base, item, model)
            match tried.outcome:
                case RunEnd():
                    return tried.outcome
                case Done(worked):
                    if await _take(tried, worked):
                        return Carried(tried.draft, worked)
                case unfinished:
                    return await end_unfinished(self.context, unfinished)

    async def _try_with_help(self, base: DraftBase, item: WorkItem, model: LanguageModel) -> _Try:
        """As often as people let it try."""
        tried = await self._try_openly(base, item, model)
        for attempt in count(1):
            why = await self._find_reason_to_retry(item, attempt, tried)
            if not why:
                break
            tried = await self._try_openly(base, item.with_retry(attempt, why), model)
        return tried

    async def _try_openly(self, base: DraftBase, item: WorkItem, model: LanguageModel) -> _Try:
        """As often as it may recover, until it hides no failure."""
        first, make, left, recoveries = item, self._usual_make, NO_CHANGES, count(1)
        caught = await self._recovery.recall(item, make)
        while True:
            draft = base.new_draft()
            if caught is not None:
                begun = await self._recovery.begin(caught, item)
                if isinstance(begun, RunEnd):
                    return _Try(self._choose(make), item, draft, begun)
                if make is AgentMake.other and begun.agent is AgentMake.own:
                    await ExternalAgent(self.context, self.configuration).give_away(item, draft)
                make, task = begun.agent, await self._recovery.build_task(begun, item.built.then(left))
                item = first.with_recovery(next(recoveries), task, left)
            agent = self._choose(make)
            tried = _Try(agent, item, draft, await agent.work(item, draft, model))
            if not isinstance(tried.outcome, Done):
                return tried
            left = await draft.change()
            caught = await self._recovery.look(item, make, item.built.then(left), tried.outcome.value.summary)
            if caught is None:
                return tried

    async def _find_reason_to_retry(self, item: WorkItem, attempt: int, tried: _Try) -> str:
        """Why a person lets the agent try once more; empty if it is done, or nobody does.

        A fix that leaves something is no such reason: the next review or test tells.
        """
        match tried.outcome:
            case Stuck(why) if await self._help.may_retry(item.key, attempt, why):
                return f"It came to nothing: {why}"
            case Done(Worked(is_done=False, not_done=left)) if item.task.mine is not None:
                may_finish = await self._help.may_finish(item.key, attempt, item.task.mine, left)
                kept = "" if isinstance(tried.agent, ExternalAgent) else ", and nothing of it was kept"
                return f"It left this undone{kept}: {left}" if may_finish else ""
            case _:
                return ""

    def _choose(self, make: AgentMake) -> _Agent:
        if make is self._usual_make:
            return self._usual
        return (ExternalAgent if make is AgentMake.other else CodingAgent)(self.context, self.configuration)

    @property
    def _usual_make(self) -> AgentMake:
        return AgentMake.other if isinstance(self._usual, ExternalAgent) else AgentMake.own

    @cached_property
    def _usual(self) -> _Agent:
        configuration = self.configuration
        if (self.context.run.mode or configuration.execution.mode) == "deterministic":
            return CodingAgent(self.context, configuration)
        has_other = configuration.agents.implementer.command is not None
        return (ExternalAgent if has_other else InteractiveAgent)(self.context, configuration)

    @property
    def _help(self) -> HelpGate:
        return HelpGate(self.context, self.configuration)

    @property
    def _recovery(self) -> Recoveries:
        return Recoveries(self.context, self.configuration)


async def _take(tried: _Try, worked: Worked) -> bool:
    """Whether the work may be committed; not if somebody took it back at the last moment."""
    agent = tried.agent
    return not isinstance(agent, ExternalAgent) or await agent.take(tried.item, tried.draft, worked.summary)
