"""Examines one head: tests it, compares its coverage with its base's, looks for what hides a failure."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from agents.testing import analysis, coverage
from agents.testing.coverage import UNREADABLE, find_coverage_loss
from agents.testing.failures import classify_failures
from agents.testing.tester import Tester
from domain.config.configuration import Configuration
from domain.config.sections import AvoidanceReaction
from domain.gates import digest
from domain.review.avoidance import Avoidance, list_certain
from domain.review.changes import Change
from domain.review.review import RiskLevel
from domain.runs.coverage import (
    BaseCoverage,
    CoverageComparison,
    Obstacle,
    build_base_coverage,
    compare_coverage,
    find_obstacle,
    has_coverage,
    is_worth_a_base,
)
from domain.runs.earlier_tests import NOTHING_EARLIER, EarlierTests
from domain.runs.patches import RequiredFix, list_required_fixes
from domain.runs.testing import Analysis, FailureClass, SuiteVerdict, TestRun, decide_verdict
from domain.value import Value
from memory.runs import checkpoints
from messages import tests as test_texts
from pipeline.issue.avoidance import AvoidanceTerms, find_avoidance, list_lost_tests
from pipeline.run_context import RunContext, describe_place
from pipeline.verdicts.earlier_tests import EarlierTestRuns
from workspace.mirror import Mirror
from workspace.snapshot import Snapshot


class HeadTestResult(Value):
    """The result of testing one head; in journals and checkpoints.

    :param unexplained: why no model said what the failures mean, where one was to, and what to do.
    :param to_fix: failures that the implementer can fix.
    :param missing: tests that the change lacks.
    :param weakened: where the change gives up in disguise; tests of before that fail come first.
    :param earlier: what the tests of before say.
    :param compared: the coverage before and after; None if it was not compared.
    :param obstacle: why it was not, where one side has coverage.
    :param needs_person: whether the check asks for a person, because coverage was lost.
    """

    head: str
    run: TestRun
    analyses: tuple[Analysis, ...] = ()
    unexplained: str = ""
    to_fix: tuple[RequiredFix, ...] = ()
    missing: tuple[RequiredFix, ...] = ()
    weakened: tuple[RequiredFix, ...] = ()
    earlier: EarlierTests = NOTHING_EARLIER
    compared: CoverageComparison | None = None
    obstacle: Obstacle | None = None
    needs_person: bool = False

    @property
    def verdict(self) -> SuiteVerdict:
        return decide_verdict(self.run)

    @property
    def blames_environment(self) -> bool:
        """Whether everything that failed seems to have done so for what the place where it ran lacks."""
        failed = [each for each in self.analyses if each.failure_class is not FailureClass.flaky]
        is_lacking = (
            each.failure_class is FailureClass.environment and each.confidence >= analysis.LACKS_SOMETHING
            for each in failed
        )
        return bool(failed) and all(is_lacking)

    @property
    def failures(self) -> tuple[RequiredFix, ...]:
        """Every failure, also those that nobody knows how to fix."""
        cases = {case.id: case for case in analysis.list_failures(self.run)}
        return tuple(
            RequiredFix(
                path=(case.path or "") if (case := cases.get(each.test_id)) else "",
                line=case.line if case else None,
                rule=each.test_id,
                message=" ".join(filter(None, (each.root_cause, each.suggested_fix))),
            )
            for each in self.analyses
            if each.failure_class is not FailureClass.flaky
        )


@dataclass(frozen=True)
class HeadExamination:
    """The examination of one change."""

    context: RunContext
    configuration: Configuration
    tester: Tester
    change: Change
    terms: AvoidanceTerms

    async def run_tests(self, level: RiskLevel) -> HeadTestResult:
        """Run the tests in the sandbox, and look at what they say.

        All tests run where those of the base are quick: a selection cannot be compared.

        :param level: the risk of the change, which decides how many of them run otherwise.
        """
        bases = BaseCoverages(self.context, self.configuration)
        base = await bases.find(self.change.merge_base)
        run = await self._test(level, base)
        if base is None and is_worth_a_base(run):
            await self.tester.tell("Measuring what the tests of the base run")
            base = await bases.measure(self.tester.mirror, self.change.merge_base)
            run = run if run.runs_all or not base.is_quick else await self._test(level, base)
        obstacle = find_obstacle(run, base)
        before, after = None if base is None else base.coverage, run.coverage
        if obstacle is not None or before is None or after is None:
            return await self.examine(run, obstacle=obstacle)
        return await self.examine(run, await asyncio.to_thread(compare_coverage, before, after, self.change))

    async def examine(
        self, run: TestRun, compared: CoverageComparison | None = None, obstacle: Obstacle | None = None
    ) -> HeadTestResult:
        """What a run of the tests came to.

        :param compared: its coverage beside the base's; None if there is nothing to compare.
        :param obstacle: why there is not, where one side has coverage.
        """
        change, mirror = self.change, self.tester.mirror
        files = (await Snapshot.of(mirror, change.head_sha)).files
        changed = [each.path for each in change.touched if each.path in files]
        found = await find_avoidance(self.context, mirror, change)
        said = await EarlierTestRuns(
            self.context.services, self.context.run, self.configuration, self.tester.tell
        ).find_or_run(mirror, change)
        lost = self._find_loss(compared, obstacle, found)
        return HeadTestResult(
            head=change.head_sha,
            run=run,
            analyses=await asyncio.to_thread(classify_failures, run, files),
            missing=coverage.find_missing_tests(run, changed),
            weakened=(*await list_lost_tests(self.context, said, change), *list_required_fixes((*lost, *found))),
            earlier=said,
            compared=compared,
            obstacle=obstacle,
            needs_person=bool(list_certain(lost)) and self.terms.on_loss is AvoidanceReaction.gate,
        )

    async def _test(self, level: RiskLevel, base: BaseCoverage | None) -> TestRun:
        if base is None or not base.is_quick:
            return await self.tester.test(self.change, level)
        why_all = test_texts.explain_all_tests(base.seconds)
        return await replace(self.tester, why_all=why_all).test(self.change, level)

    def _find_loss(
        self, compared: CoverageComparison | None, obstacle: Obstacle | None, found: Sequence[Avoidance]
    ) -> tuple[Avoidance, ...]:
        """The lost coverage, unless the repository does not want to hear of it."""
        if self.terms.on_loss is AvoidanceReaction.off:
            return ()
        if compared is None:
            return (UNREADABLE,) if obstacle is Obstacle.unreadable else ()
        lost = find_coverage_loss(compared, found, self.terms.asked)
        return () if lost is None else (lost,)


_VERSION = 1  # of what is measured; a new one measures anew


@dataclass(frozen=True)
class BaseCoverages:
    """The coverage of bases, for one run."""

    context: RunContext
    configuration: Configuration

    async def find(self, commit: str) -> BaseCoverage | None:
        """What is known of a commit; None if nothing is."""
        database, repository = self.context.database, self.context.run.repository
        return await checkpoints.find_shared(database, repository.id, self._build_key(commit), BaseCoverage)

    async def measure(self, mirror: Mirror, commit: str) -> BaseCoverage:
        """Run the tests of a commit, and keep what they cover, even if that is nothing."""
        tester = self.context.build_tester(mirror, self.configuration)
        return await self._keep(build_base_coverage(commit, await tester.measure(commit)))

    async def keep(self, commit: str, run: TestRun) -> None:
        """Keep what a run of all tests of a commit covered, if it measured that."""
        if has_coverage(run):
            await self._keep(build_base_coverage(commit, run))

    async def _keep(self, base: BaseCoverage) -> BaseCoverage:
        context, key = self.context, self._build_key(base.commit)
        await checkpoints.keep_shared(context.database, context.run, key, base, context.now())
        return base

    def _build_key(self, commit: str) -> str:
        return digest(_VERSION, commit, *describe_place(self.context.services, self.configuration))
