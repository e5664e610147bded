"""Runs the implementer on one piece of a plan, in a draft."""

from dataclasses import dataclass, replace

from agents.coding.implementer import ImplementationTask, OnDraft, build_agent, build_assignment
from agents.llm.models import LanguageModel
from agents.loop.loop import Done, Stopped, Stuck, run_agent
from agents.loop.tools.tool import Tool
from domain.config.configuration import Configuration
from domain.runs.run import Phase
from domain.runs.task_result import RequiredFix, Worked
from domain.text.redaction import redact_outgoing
from pipeline.issue.coding.draft_checks import DraftChecks
from pipeline.model_calls.agent_journal import AgentSteps
from pipeline.model_calls.budgeted import BudgetedCalls
from pipeline.model_calls.guards import GuardedTask
from pipeline.model_calls.memories import RecallTopic
from pipeline.run_context import RunContext
from safety.guards import TaskKind
from workspace.draft import Draft


@dataclass(frozen=True)
class WorkItem:
    """A piece of work that becomes one commit.

    :param key: names it in the journal.
    :param message: of the commit.
    :param first_key: of the first attempt, if this is a later one.
    """

    key: str
    task: ImplementationTask
    message: str
    kind: TaskKind = TaskKind.implementation
    first_key: str = ""

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
        return await run_agent(agent, OnDraft(AgentSteps(calls, agent, assignment, model), draft))


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
