"""Asks a model what stands in place of the conflicts of a merge."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from agents.coding.resolver import ConflictTask, build_agent, build_assignment
from agents.llm.models import LanguageModel, ModelTier, Unusable
from agents.loop.loop import Done, run_agent
from domain.config.configuration import Configuration
from domain.runs.run import Phase
from messages import updates as texts
from pipeline.durable.journal import run_outside_journal
from pipeline.issue.status_comment import RunEnd, end_unfinished
from pipeline.model_calls.budgeted import AgentSteps, BudgetedCalls
from pipeline.model_calls.guards import GuardedTask
from pipeline.run_context import RunContext
from safety.conflicts import Outside, ResolvedHunks
from safety.guards import TaskKind
from workspace.snapshot import Snapshot


@dataclass(frozen=True)
class ConflictResolver:
    """The model that resolves conflicts, within one run.

    :param load_merged: loads the files as git merged them, and the text around the conflicts by path.
    """

    context: RunContext
    configuration: Configuration
    load_merged: Callable[[], Awaitable[tuple[Snapshot, Mapping[str, Outside]]]]

    def choose_model(self) -> LanguageModel | str:
        """The model; or why there is none, as a sentence."""
        if not self.configuration.review.may_ask_model:
            return texts.CODE_KEPT
        model = self.context.services.models.choose(ModelTier.strong)
        return texts.explain_missing_model(model.reason) if isinstance(model, Unusable) else model

    async def resolve(self, model: LanguageModel, task: ConflictTask, attempt: int) -> ResolvedHunks | RunEnd:
        """What it makes of each conflict, or how the run ends without.

        :param attempt: from 1.
        :raises WaitingForGate: a person has to decide first.
        """
        key = f"resolve {attempt}"
        snapshot, outside = await run_outside_journal(self.load_merged)
        agent = build_agent(snapshot, task.hunks, outside, self.configuration.review.never_send)
        assignment = build_assignment(key, task)
        guarded = GuardedTask(f"{key} ", TaskKind.implementation)
        calls = BudgetedCalls(self.context, Phase.implementation, self.configuration, task=guarded)
        match await run_agent(agent, AgentSteps(calls, agent, assignment, model)):
            case Done(value):
                return value
            case unfinished:
                return await end_unfinished(self.context, unfinished)
