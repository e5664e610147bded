"""Examines one head: runs its tests, and looks for what they say and what hides a failure instead of mending it."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from agents.testing import missing_tests
from agents.testing.coverage_loss import UNREADABLE, find_coverage_loss
from agents.testing.failure_classes import classify_failures
from agents.testing.tester import Tester
from domain.config.sections import AvoidanceReaction
from domain.review.avoidance import Avoidance, list_certain
from domain.review.changes import Change
from domain.review.review import RiskLevel
from domain.runs.coverage import Obstacle
from domain.runs.patches import list_required_fixes
from pipeline.issue.avoidance import AvoidanceTerms, find_avoidance, list_lost_tests
from pipeline.issue.comparable_test import BaseCoverages, ComparableTest, ComparedRun
from pipeline.issue.test_result import HeadTestResult
from pipeline.run_context import RunContext
from pipeline.verdicts.earlier_tests import EarlierTestRuns
from workspace.snapshot import Snapshot


@dataclass(frozen=True)
class HeadExamination:
    """The examination of one change.

    :param earlier: asks the tests of before.
    """

    context: RunContext
    tester: Tester
    earlier: EarlierTestRuns
    change: Change
    terms: AvoidanceTerms

    async def run_tests(self, bases: BaseCoverages, level: RiskLevel) -> HeadTestResult:
        """Run the tests in the sandbox.

        :param level: the risk of the change, which decides how many of them run.
        """
        return await self.build_result(await ComparableTest(bases, self.tester, self.change).test(level))

    async def build_result(self, done: ComparedRun) -> HeadTestResult:
        """What a run of the tests came to."""
        change, mirror = self.change, self.tester.mirror
        files = (await Snapshot.of(mirror, change.head_sha)).files
        changed = [each.path for each in change.touched if each.path in files]
        found = await find_avoidance(self.context, mirror, change)
        said = await self.earlier.find_or_run(mirror, change)
        lost = self._find_loss(done, found)
        return HeadTestResult(
            head=change.head_sha,
            run=done.run,
            analyses=await asyncio.to_thread(classify_failures, done.run, files),
            missing=missing_tests.find_missing_tests(done.run, changed),
            weakened=(*await list_lost_tests(self.context, said, change), *list_required_fixes((*lost, *found))),
            earlier=said,
            compared=done.compared,
            obstacle=done.obstacle,
            needs_person=bool(list_certain(lost)) and self.terms.on_loss is AvoidanceReaction.gate,
        )

    def _find_loss(self, done: ComparedRun, found: Sequence[Avoidance]) -> tuple[Avoidance, ...]:
        """The lost coverage, unless the repository does not want to hear of it."""
        if self.terms.on_loss is AvoidanceReaction.off:
            return ()
        if done.compared is None:
            return (UNREADABLE,) if done.obstacle is Obstacle.unreadable else ()
        lost = find_coverage_loss(done.compared, found, self.terms.asked)
        return () if lost is None else (lost,)
