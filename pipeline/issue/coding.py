"""Runs the implementer on one piece of a plan, in a draft."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from agents.coding.implementer import ImplementationTask, OnDraft, build_agent, build_assignment
from agents.llm.models import LanguageModel
from agents.loop.loop import Done, Stopped, Stuck, run_agent
from agents.testing.tester import Tester
from domain.config.configuration import Configuration
from domain.review.review import RiskLevel
from domain.runs.run import Phase
from domain.runs.task_result import RequiredFix, Worked
from domain.runs.testing import TestRun
from domain.text.redaction import redact_outgoing
from pipeline.model_calls.agent_journal import AgentSteps
from pipeline.model_calls.budgeted import BudgetedCalls
from pipeline.model_calls.guards import GuardedTask
from pipeline.model_calls.memories import RecallTopic
from pipeline.run_context import RunContext
from pipeline.runs.lifecycle import run_while_current
from safety.guards import TaskKind
from workspace.draft import Draft


@dataclass(frozen=True)
class WorkItem:
    """A piece of work that becomes one commit.

    :param key: names it in the journal.
    :param message: of the commit.
    """

    key: str
    task: ImplementationTask
    message: str
    kind: TaskKind = TaskKind.implementation

    def with_retry(self, attempts: int, why: str) -> "WorkItem":
        """The same piece after failed attempts.

        :param why: the last one failed, one or two sentences.
        """
        failed = RequiredFix(path="", rule=f"attempt {attempts}", message=why)
        task = self.task.model_copy(update={"to_fix": (*self.task.to_fix, failed)})
        return replace(self, key=f"again {attempts} {self.key}", task=task)


@dataclass(frozen=True)
class CodingAgent:
    """The implementer within one run."""

    context: RunContext
    configuration: Configuration

    async def work(self, item: WorkItem, draft: Draft, model: LanguageModel) -> Done[Worked] | Stuck | Stopped:
        """Work on one piece; what changes is in the draft afterwards."""
        topic, task = build_topic(item.task), GuardedTask(f"{item.key} ", item.kind)
        calls = BudgetedCalls(self.context, Phase.implementation, self.configuration, topic, task)
        never_send = self.configuration.review.never_send
        test = partial(self._test, item.task) if self._can_test(item.task) else None
        agent = build_agent(draft, never_send, redact_outgoing, test)
        assignment = build_assignment(item.key, item.task, redact_outgoing, says_words=not never_send)
        return await run_agent(agent, OnDraft(AgentSteps(calls, agent, assignment, model), draft))

    def _can_test(self, task: ImplementationTask) -> bool:
        shows_nothing = task.baseline is not None and bool(task.baseline.lacks)
        return self.configuration.testing.runner != "actions" and not shows_nothing

    async def _test(self, task: ImplementationTask, commit: str, names: Sequence[str]) -> TestRun:
        services, run = self.context.services, self.context.run
        mirror = await self.context.fetch_mirror()
        change = await mirror.change(run.base_sha, commit)
        tester = Tester(mirror, services.toolbox, self.configuration.commands, baseline=task.baseline)
        ran = tester.test_named(change, names) if names else tester.test(change, RiskLevel.low)
        return await run_while_current(services, run, ran)


def build_topic(task: ImplementationTask) -> RecallTopic:
    """The task and its files, and what is to be fixed."""
    words = [] if task.mine is None else [task.mine.title, task.mine.description]
    files = () if task.mine is None else task.mine.files
    wrong = [f"{each.rule} {each.message}" for each in task.to_fix]
    return RecallTopic("\n".join([*words, *wrong]), (*files, *(each.path for each in task.to_fix if each.path)))
