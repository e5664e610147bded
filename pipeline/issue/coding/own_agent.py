"""Runs the implementer on one piece of a plan, in a draft."""

from dataclasses import dataclass

from agents.coding.draft_steps import OnDraft, carry_over
from agents.coding.implementer import ImplementationTask, build_agent, build_assignment
from agents.llm.models import LanguageModel
from agents.loop.loop import Done, Stopped, Stuck, run_agent
from agents.loop.tools.tool import Tool
from domain.config.configuration import Configuration
from domain.runs.patches import Worked
from domain.runs.run import Phase
from domain.text.redaction import redact_outgoing
from pipeline.issue.coding.draft_checks import DraftChecks
from pipeline.issue.coding.work_item import WorkItem
from pipeline.model_calls.agent_journal import AgentSteps
from pipeline.model_calls.budgeted import BudgetedCalls
from pipeline.model_calls.guards import GuardedTask
from pipeline.model_calls.memories import RecallTopic
from pipeline.run_context import RunContext
from workspace.draft import Draft


@dataclass(frozen=True)
class CodingAgent:
    """The implementer within one run."""

    context: RunContext
    configuration: Configuration

    async def work(
        self, item: WorkItem, draft: Draft, model: LanguageModel, run_command: Tool | None = None
    ) -> Done[Worked] | Stuck | Stopped:
        """Work on one piece; what changes is in the draft afterwards.

        :param run_command: in interactive mode.
        """
        calls = build_calls(self.context, self.configuration, item)
        never_send = self.configuration.review.never_send
        checks = DraftChecks(self.context, self.configuration, item.task.baseline)
        test = checks.test if checks.can_test else None
        more = () if run_command is None else (run_command,)
        agent = build_agent(draft, never_send, redact_outgoing, test, checks.check, more)
        assignment = build_assignment(
            item.key, item.task, redact_outgoing, says_words=not never_send, is_interactive=bool(more)
        )
        start = await carry_over(draft, item.left)
        return await run_agent(agent, OnDraft(AgentSteps(calls, agent, assignment, model), draft, start))


def build_calls(context: RunContext, configuration: Configuration, item: WorkItem) -> BudgetedCalls:
    """The calls of models for a piece of work, whoever makes them."""
    task = GuardedTask(f"{item.key} ", item.kind)
    return BudgetedCalls(context, Phase.implementation, configuration, _build_topic(item.task), task)


def _build_topic(task: ImplementationTask) -> RecallTopic:
    """The task and its files, and what is to be fixed."""
    words = [] if task.mine is None else [task.mine.title, task.mine.description]
    files = () if task.mine is None else task.mine.files
    wrong = [f"{each.rule} {each.message}" for each in task.to_fix]
    return RecallTopic("\n".join([*words, *wrong]), (*files, *(each.path for each in task.to_fix if each.path)))
