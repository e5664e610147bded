"""What happens before anything is deployed: the checks of the merged commit are awaited, and it is built."""

from dataclasses import dataclass
from datetime import timedelta

from agents.deployment.commands import CommandOutcome, Deployer
from domain.deployments.deployment import Cause, Deployment, DeploymentState
from domain.github.pull_requests import RequiredCheck
from memory.deployments import deployments
from pipeline.checkout import fetch_commits
from pipeline.deployment.plan import DeploymentPlan
from pipeline.deployment.status import DeploymentStatus
from pipeline.run_context import RunContext, run_while_current
from safety.allowed_actions import ChecksState, RequiredChecks, evaluate_checks

_LOOK_PAUSE = timedelta(seconds=30)
_LOOKS = 120  # an hour in all
_BUILT = "build"


@dataclass(frozen=True)
class Preparation:
    """The preparation of one deployment; each method answers why it ends here, or None."""

    context: RunContext
    deployment: Deployment
    plan: DeploymentPlan
    status: DeploymentStatus

    async def check(self) -> str | None:
        """Wait until the checks of the merged commit ended."""
        await self.status.show(DeploymentState.preparing)
        if self.deployment.cause is Cause.rollback:  # it was deployed before
            return None
        for _ in range(_LOOKS):
            checks = await self.context.journal.step("how its checks are", self._read_checks)
            if checks.light is ChecksState.green:
                return None
            if checks.light is ChecksState.failing:
                return f"Checks of the merged commit are {checks.text}."
            if await self.context.journal.step("is it stopped", self._is_stopped):
                return "It was stopped before anything was deployed."
            await self.context.journal.pause(_LOOK_PAUSE, "The checks of the merged commit have not ended.")
        return "The checks of the merged commit did not end within an hour."

    async def build(self) -> str | None:
        """Build the commit, once."""
        line = self.plan.build_command
        if line is None:
            return None
        outcome = await self.context.journal.step("build", self._build_once, line)
        if outcome.is_successful:
            return None
        tail = f"\n{outcome.output[-500:]}" if outcome.output else ""
        return f"The build failed: {outcome.problem}.{tail}"

    async def _read_checks(self) -> RequiredChecks:
        run = self.context.run
        named = self.plan.environment.required
        if named is not None and not named:
            return RequiredChecks(light=ChecksState.green)
        required = [RequiredCheck(name=name) for name in named or ()]
        return evaluate_checks(required, await self.context.services.host.check_results(run.repository, run.head_sha))

    async def _build_once(self, line: str) -> CommandOutcome:
        database, run_id = self.context.database, self.context.run.id
        kept = await deployments.load_kept(database, run_id, _BUILT)
        if kept is None:
            outcome = await run_while_current(self.context.services, self.context.run, self._build(line))
            kept = await deployments.keep(database, run_id, _BUILT, outcome.model_dump(mode="json"))
        return CommandOutcome.model_validate(kept)

    async def _build(self, line: str) -> CommandOutcome:
        services, run = self.context.services, self.context.run
        mirror = await fetch_commits(services, run.repository, run.number, run.head_sha, run.head_sha)
        deployer = Deployer(mirror, services.toolbox, self.plan.configuration.commands)
        return await deployer.build(run.head_sha, line, self.plan.configuration.deploy.build.artifact)

    async def _is_stopped(self) -> bool:
        return (await self.status.load()).is_given_up
