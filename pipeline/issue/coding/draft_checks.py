"""Tests an implementer's draft, and runs the checks of the review on it, before it is proposed."""

from collections.abc import Sequence
from dataclasses import dataclass

from agents.review import reviewer
from agents.review.checks.avoidance import AvoidanceCheck
from agents.review.layers import CheckedChange, apply_path_filters
from agents.testing.tester import Tester
from domain.config.configuration import Configuration
from domain.review.review import RiskLevel
from domain.runs.earlier_tests import Baseline
from domain.runs.testing import TestRun
from pipeline.run_context import RunContext, run_while_current
from safety.risk import PullRequestAuthor

_FORGE = PullRequestAuthor(from_fork=False, first_time=False)


@dataclass(frozen=True)
class DraftChecks:
    """The checks of the drafts of one run.

    :param baseline: how the repository's commands end before any change, if that is known.
    """

    context: RunContext
    configuration: Configuration
    baseline: Baseline | None

    @property
    def can_test(self) -> bool:
        """Whether the repository's tests run here."""
        is_runnable = self.baseline is None or self.baseline.is_runnable
        return self.configuration.testing.runner != "actions" and is_runnable

    async def test(self, commit: str, names: Sequence[str]) -> TestRun:
        """Test a commit: what its change concerns, or named tests only.

        :raises Superseded: something else owns the issue now.
        """
        services, run = self.context.services, self.context.run
        mirror = await self.context.fetch_mirror()
        change = await mirror.change(run.base_sha, commit)
        commands = self.configuration.commands
        tester = Tester(mirror, services.toolbox, commands, baseline=self.baseline, compares=True)
        ran = tester.test_named(change, names) if names else tester.test(change, RiskLevel.low)
        return await run_while_current(services, run, ran)

    async def check(self, commit: str) -> CheckedChange:
        """What the review of a commit finds without a model, but for what GitHub knows of dependencies.

        :raises CodeAccessError: the change cannot be read.
        :raises Superseded: something else owns the issue now.
        """
        services, run, configuration = self.context.services, self.context.run, self.configuration
        mirror = await self.context.fetch_mirror()
        change = apply_path_filters(await mirror.change(run.base_sha, commit), configuration)
        avoided = AvoidanceCheck(configuration.avoidance, owned=True)
        checking = reviewer.check(
            change, mirror, services.toolbox, configuration, _FORGE, _compare_no_dependencies, avoided=avoided
        )
        return await run_while_current(services, run, checking)


async def _compare_no_dependencies() -> None:
    return None
