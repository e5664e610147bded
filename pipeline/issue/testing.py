"""Tests one head, has its failures analysed, with a model where one can be asked, and shows the result in a check."""

from dataclasses import dataclass
from functools import cached_property, partial

from agents.llm.models import ModelTier, Unusable
from agents.testing import analysis
from agents.testing.tester import Tester
from domain.config.configuration import Configuration
from domain.gates import digest
from domain.review.review import RiskLevel
from domain.runs.earlier_tests import Baseline
from domain.runs.run import Phase
from domain.runs.testing import SuiteVerdict
from memory import ledger
from messages import tests as test_texts
from pipeline.durable.journal import run_outside_journal
from pipeline.issue.avoidance import AvoidanceTerms
from pipeline.issue.head_examination import HeadExamination, HeadTestResult
from pipeline.issue.red_checks import WorkflowResults
from pipeline.model_calls.budgeted import BudgetedCalls
from pipeline.model_calls.guards import GuardedTask
from pipeline.model_calls.memories import RecallTopic
from pipeline.publishing.publisher import ProgressUpdates
from pipeline.publishing.test_check import HeadTestCheck
from pipeline.run_context import RunContext, run_while_current


@dataclass(frozen=True)
class HeadTester:
    """One testing of one head.

    :param head: commit to test; in the mirror.
    :param occasion: distinguishes this testing of the head from others.
    :param terms: what people asked for, and what happens where coverage is lost.
    :param attempt: counts the tests of the run's change: guards limit each analysis by itself.
    :param is_beside_run: a person asked for it: no gate is asked then, and the run's guards do not count it.
    :param baseline: what fails without the change, if that is known.
    :param why_all: see :class:`Tester`.
    """

    context: RunContext
    configuration: Configuration
    head: str
    occasion: str
    terms: AvoidanceTerms
    attempt: int = 1
    is_beside_run: bool = False
    baseline: Baseline | None = None
    why_all: str = ""

    async def test(self, level: RiskLevel, *, asks: bool = True) -> HeadTestResult | None:
        """Test the head; the failure of a test is no error. None while the repository's own workflows run.

        :param level: the risk of the change, which decides how many tests run.
        :param asks: whether a model may analyse failures.
        :raises WaitingForGate: if a person has to decide before the analysis.
        """
        try:
            tested = await self._test_and_analyse(level, asks)
        finally:
            await self._progress.quiet()
        if tested is not None:
            await self.context.journal.step("show the tests", self._conclude, tested)
        return tested

    @cached_property
    def _check(self) -> HeadTestCheck:
        return HeadTestCheck(self.context.services, self.context.run, self.head, self.occasion)

    @cached_property
    def _progress(self) -> ProgressUpdates:
        return ProgressUpdates(self.context.database, self.context.run, self.context.services.progress_delay)

    @property
    def _has_own_workflows(self) -> bool:
        return self.configuration.testing.runner == "actions"

    async def _test_and_analyse(self, level: RiskLevel, asks: bool) -> HeadTestResult | None:
        if self._has_own_workflows:
            await self.context.journal.step("show that it tests", self._check.show_queued)
        tested = await self.context.journal.step("run the tests", self._run_while_current, level)
        return None if tested is None else await self._analyse(tested, asks=asks)

    async def _analyse(self, tested: HeadTestResult, *, asks: bool) -> HeadTestResult:
        """The result with what its failures mean, and why a model that was to explain them did not."""
        model = self.context.services.models.choose(ModelTier.fast)
        question, judged, problem = None, None, ""
        if asks and tested.verdict is SuiteVerdict.failed and not isinstance(model, Unusable):
            question = await self._build_question(tested)
            if question is not None:
                topic = RecallTopic("\n".join(question.tests), question.paths)
                calls = BudgetedCalls(self.context, Phase.testing, self.configuration, topic, GuardedTask(question.key))
                name = digest("analyse", question.model_dump_json(), model.name)
                ask = calls.ask_outside_run if self.is_beside_run else calls.ask
                answer = await ask(name, question, analysis.FailureJudgements, model)
                judged = None if answer.value is None else analysis.FailureJudgements.model_validate(answer.value)
                problem = answer.problem or ""
        analyses = analysis.merge_analyses(tested.run, tested.analyses, judged, question)
        to_fix = analysis.list_fixable(tested.run, analyses)
        return tested.model_copy(update={"analyses": analyses, "unexplained": problem, "to_fix": to_fix})

    async def _build_question(self, tested: HeadTestResult) -> analysis.AnalysisQuestion | None:
        mirror = await run_outside_journal(self.context.fetch_mirror)
        change = await self.context.load_change(mirror, tested.head)
        never = self.configuration.review.never_send
        question = analysis.build_question(tested.run, tested.analyses, change, never)
        return question and question.model_copy(update={"key": f"{question.key} {self.attempt}"})

    # --- steps -------------------------------------------------------------------------------------------------

    async def _run_while_current(self, level: RiskLevel) -> HeadTestResult | None:
        return await run_while_current(self.context.services, self.context.run, self._run_tests(level))

    async def _run_tests(self, level: RiskLevel) -> HeadTestResult | None:
        mirror, toolbox = await self.context.fetch_mirror(), self.context.services.toolbox
        change = await self.context.load_change(mirror, self.head)
        tell, commands = self._show_progress, self.configuration.commands
        tester = Tester(mirror, toolbox, commands, tell, baseline=self.baseline, why_all=self.why_all)
        examination = HeadExamination(self.context, self.configuration, tester, change, self.terms)
        if not self._has_own_workflows:
            return await examination.run_tests(level)
        workflows = WorkflowResults(self.context, self._check, self.configuration, is_asked=self.is_beside_run)
        ran = await workflows.load()
        return None if ran is None else await examination.examine(ran)

    async def _conclude(self, tested: HeadTestResult) -> None:
        text = test_texts.render_outcome(
            tested.run,
            tested.analyses,
            proposes=bool(tested.missing),
            weakened=tested.weakened,
            earlier=tested.earlier,
            unexplained=tested.unexplained,
            coverage=test_texts.CoverageReport(tested.compared, tested.obstacle, needs_person=tested.needs_person),
        )
        failed = [
            {"test": case.id, "path": case.path, "line": case.line} for case in analysis.list_failures(tested.run)
        ]
        database, run, now = self.context.database, self.context.run, self.context.now()
        await ledger.record_failed_tests(database, run, self._check.external_id, failed, now)
        await self._check.conclude(tested.verdict, text, needs_person=tested.needs_person)

    async def _show_progress(self, doing: str) -> None:
        self._progress.post_later(partial(self._check.show_progress, doing))
