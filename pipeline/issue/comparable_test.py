"""Tests a head so that its coverage can be compared with what the tests of its base cover, and compares."""

import asyncio
from dataclasses import dataclass, replace

from agents.testing.tester import Tester
from domain.config.configuration import Configuration
from domain.gates import digest
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
from domain.runs.testing import TestRun
from memory.runs import checkpoints
from messages import tests as test_texts
from pipeline.run_context import RunContext, describe_place
from workspace.mirror import Mirror

_VERSION = 1  # of what is measured; a new one measures anew


@dataclass(frozen=True)
class BaseCoverages:
    """The coverage of bases, for one run."""

    context: RunContext
    configuration: Configuration

    async def find(self, commit: str) -> BaseCoverage | None:
        """What is known of a commit; None if nothing is."""
        context = self.context
        return await checkpoints.find_coverage(context.database, context.run.repository.id, self._build_key(commit))

    async def measure(self, mirror: Mirror, commit: str) -> BaseCoverage:
        """Run the tests of a commit, and keep what they cover, even if that is nothing."""
        tester = Tester(mirror, self.context.services.toolbox, self.configuration.commands)
        base = build_base_coverage(commit, await tester.measure(commit))
        await self._keep(base)
        return base

    async def keep(self, commit: str, run: TestRun) -> None:
        """Keep what a run of all tests of a commit covered, if it measured that."""
        if has_coverage(run):
            await self._keep(build_base_coverage(commit, run))

    async def _keep(self, base: BaseCoverage) -> None:
        context = self.context
        await checkpoints.save_coverage(
            context.database, context.run, self._build_key(base.commit), base, context.now()
        )

    def _build_key(self, commit: str) -> str:
        return digest(_VERSION, commit, *describe_place(self.context.services, self.configuration))


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
