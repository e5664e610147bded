"""Analyses the failures of a test run, with a model where one can be asked."""

from dataclasses import dataclass

from agents.llm.models import ModelTier, Unusable
from agents.testing import analysis
from domain.config.configuration import Configuration
from domain.gates import digest
from domain.runs.run import Phase
from domain.runs.testing import Analysis, SuiteVerdict
from domain.text.redaction import redact_outgoing
from pipeline.checkout import load_change
from pipeline.durable.journal import run_outside_journal
from pipeline.issue.head_examination import HeadTestResult
from pipeline.model_calls.budgeted import BudgetedCalls
from pipeline.model_calls.guards import GuardedTask
from pipeline.model_calls.memories import RecallTopic
from pipeline.run_context import RunContext


@dataclass(frozen=True)
class ExplainedFailures:
    """What failures mean.

    :param problem: why a model that was to explain them did not, and what to do; empty if it did, or was not to.
    """

    analyses: tuple[Analysis, ...]
    problem: str = ""


@dataclass(frozen=True)
class FailureAnalysis:
    """The analysis of the failures of one test run.

    :param is_beside_run: a person asked for the tests: no gate is asked then, and the run's guards do not count it.
    :param attempt: counts the tests of the run's change: guards limit each analysis by itself.
    """

    context: RunContext
    configuration: Configuration
    attempt: int
    is_beside_run: bool = False

    async def analyse(self, tested: HeadTestResult, *, asks: bool) -> ExplainedFailures:
        """:param asks: whether a model may be asked."""
        model = self.context.services.models.choose(ModelTier.fast)
        if not asks or tested.verdict is not SuiteVerdict.failed or isinstance(model, Unusable):
            return ExplainedFailures(analysis.merge_analyses(tested.run, tested.analyses, None, None))
        question = await self._build_question(tested)
        if question is None:
            return ExplainedFailures(analysis.merge_analyses(tested.run, tested.analyses, None, None))
        topic = RecallTopic("\n".join(question.tests), question.paths)
        calls = BudgetedCalls(self.context, Phase.testing, self.configuration, topic, GuardedTask(question.key))
        name = digest("analyse", question.model_dump_json(), model.name)
        ask = calls.ask_outside_run if self.is_beside_run else calls.ask
        answer = await ask(name, question, analysis.FailureJudgements, model)
        judged = None if answer.value is None else analysis.FailureJudgements.model_validate(answer.value)
        merged = analysis.merge_analyses(tested.run, tested.analyses, judged, question)
        return ExplainedFailures(merged, answer.problem or "")

    async def _build_question(self, tested: HeadTestResult) -> analysis.AnalysisQuestion | None:
        mirror = await run_outside_journal(self.context.fetch_mirror)
        change = await load_change(mirror, self.context.run, tested.head)
        never = self.configuration.review.never_send
        question = analysis.build_question(tested.run, tested.analyses, change, redact_outgoing, never)
        if question is None:
            return None
        return question.model_copy(update={"key": f"{question.key} {self.attempt}"})
