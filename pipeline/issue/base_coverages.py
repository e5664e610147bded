"""Knows what the tests of a base cover: kept from an earlier run on the same commit, or measured now."""

from dataclasses import dataclass

from agents.testing.tester import Tester
from domain.config.configuration import Configuration
from domain.gates import digest
from domain.runs.base_coverage import BaseCoverage, build_base_coverage, has_coverage
from domain.runs.testing import TestRun
from memory.runs import tested_bases
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
        return await tested_bases.find_coverage(context.database, context.run.repository.id, self._build_key(commit))

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
        await tested_bases.save_coverage(
            context.database, context.run, self._build_key(base.commit), base, context.now()
        )

    def _build_key(self, commit: str) -> str:
        return digest(_VERSION, commit, *describe_place(self.context.services, self.configuration))
