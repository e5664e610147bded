"""Tests a head so that its coverage can be compared with that of its base, and compares them."""

import asyncio
from dataclasses import dataclass, replace

from agents.testing.tester import Tester
from domain.review.changes import Change
from domain.review.review import RiskLevel
from domain.runs.base_coverage import BaseCoverage, Obstacle, find_obstacle, is_worth_a_base
from domain.runs.coverage_comparison import CoverageComparison, compare_coverage
from domain.runs.testing import TestRun
from messages import tests as test_texts
from pipeline.issue.base_coverages import BaseCoverages


@dataclass(frozen=True)
class ComparedRun:
    """A run of the tests.

    :param compared: its coverage beside the base's; None if there is nothing to compare.
    :param obstacle: why there is not, where one side has coverage.
    """

    run: TestRun
    compared: CoverageComparison | None = None
    obstacle: Obstacle | None = None


@dataclass(frozen=True)
class ComparableTest:
    """The test of one head, and of its base where that was never measured and is worth it."""

    bases: BaseCoverages
    tester: Tester
    change: Change

    async def test(self, level: RiskLevel) -> ComparedRun:
        """Test the head. All tests run where those of the base are quick: a selection cannot be compared.

        :param level: the risk of the change, which decides how many tests run otherwise.
        """
        base = await self.bases.find(self.change.merge_base)
        run = await self._test(level, base)
        if base is None and is_worth_a_base(run):
            await self.tester.tell("Measuring what the tests of the base run")
            base = await self.bases.measure(self.tester.mirror, self.change.merge_base)
            run = run if run.runs_all or not base.is_quick else await self._test(level, base)
        obstacle = find_obstacle(run, base)
        before, after = None if base is None else base.coverage, run.coverage
        if obstacle is not None or before is None or after is None:
            return ComparedRun(run, obstacle=obstacle)
        return ComparedRun(run, await asyncio.to_thread(compare_coverage, before, after, self.change))

    async def _test(self, level: RiskLevel, base: BaseCoverage | None) -> TestRun:
        is_quick = base is not None and base.is_quick
        why_all = test_texts.explain_all_tests(base.seconds) if base is not None and is_quick else self.tester.why_all
        return await replace(self.tester, why_all=why_all).test(self.change, level)
