"""Tests one head, has its failures analysed, and shows the result in a check."""

from functools import cached_property, partial

from agents.testing import analysis
from agents.testing.tester import Tester
from domain.config.configuration import Configuration
from domain.review.review import RiskLevel
from domain.runs.baseline import Baseline
from memory import ledger
from messages import tests as test_texts
from pipeline.automation.level import load_level
from pipeline.issue.avoidance import AvoidanceTerms
from pipeline.issue.comparable_test import BaseCoverages, ComparedRun
from pipeline.issue.failure_analysis import FailureAnalysis
from pipeline.issue.head_examination import HeadExamination
from pipeline.issue.red_checks import WorkflowResults
from pipeline.issue.test_result import HeadTestResult
from pipeline.publishing.progress import ProgressUpdates
from pipeline.publishing.test_check import HeadTestCheck
from pipeline.run_context import RunContext, run_while_current
from pipeline.verdicts.earlier_tests import EarlierTestRuns


class HeadTester:
    """One testing of one head.

    :param head: commit to test; in the mirror.
    :param occasion: distinguishes this testing of the head from others.
    :param attempt: counts the tests of the run's change.
    :param is_beside_run: a person asked for it, see :class:`FailureAnalysis`.
    :param baseline: what fails without the change, if that is known.
    :param why_all: see :class:`Tester`.
    :param terms: what people asked for, and what happens where coverage is lost.
    """

    def __init__(
        self,
        context: RunContext,
        configuration: Configuration,
        head: str,
        occasion: str,
        attempt: int = 1,
        *,
        is_beside_run: bool = False,
        baseline: Baseline | None = None,
        why_all: str = "",
        terms: AvoidanceTerms,
    ) -> None:
        self._context = context
        self._configuration = configuration
        self._head = head
        self._baseline = baseline
        self._terms = terms
        self._why_all = why_all
        self._is_asked = is_beside_run
        self._check = HeadTestCheck(context.services, context.run, head, occasion)
        self._analysis = FailureAnalysis(context, configuration, attempt, is_beside_run)

    @cached_property
    def _progress(self) -> ProgressUpdates:
        services = self._context.services
        return ProgressUpdates(services.database, self._context.run, services.progress_delay)

    @property
    def _has_own_workflows(self) -> bool:
        return self._configuration.testing.runner == "actions"

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
        if tested is None:
            return None
        await self._context.journal.step("show the tests", self._conclude, tested)
        return tested

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
        database, run, now = self._context.database, self._context.run, self._context.now()
        await ledger.record_failed_tests(database, run, self._check.external_id, failed, now)
        await self._check.conclude(tested.verdict, text, needs_person=tested.needs_person)

    async def _test_and_analyse(self, level: RiskLevel, asks: bool) -> HeadTestResult | None:
        if self._has_own_workflows:
            await self._context.journal.step("show that it tests", self._check.show_queued)
        tested = await self._context.journal.step("run the tests", self._run_while_current, level)
        if tested is None:
            return None
        explained = await self._analysis.analyse(tested, asks=asks)
        found = {
            "analyses": explained.analyses,
            "unexplained": explained.problem,
            "to_fix": analysis.list_fixable(tested.run, explained.analyses),
        }
        return tested.model_copy(update=found)

    async def _run_while_current(self, level: RiskLevel) -> HeadTestResult | None:
        return await run_while_current(self._context.services, self._context.run, self._run_tests(level))

    async def _run_tests(self, level: RiskLevel) -> HeadTestResult | None:
        mirror = await self._context.fetch_mirror()
        change = await self._context.load_change(mirror, self._head)
        toolbox, commands = self._context.services.toolbox, self._configuration.commands
        tester = Tester(mirror, toolbox, commands, self._show_progress, baseline=self._baseline, why_all=self._why_all)
        services, run = self._context.services, self._context.run
        earlier = EarlierTestRuns(services, run, self._configuration, self._show_progress)
        examination = HeadExamination(self._context, tester, earlier, change, self._terms)
        if not self._has_own_workflows:
            return await examination.run_tests(BaseCoverages(self._context, self._configuration), level)
        repository, bounds = self._context.run.repository.id, self._configuration.ladder
        automation = await load_level(self._context.services, repository, bounds)
        ran = await WorkflowResults(self._context, self._check, automation, self._is_asked).load()
        return None if ran is None else await examination.build_result(ComparedRun(ran))

    async def _show_progress(self, doing: str) -> None:
        self._progress.post_later(partial(self._check.show_progress, doing))
