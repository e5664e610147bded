"""The run of one deployment, as a durable workflow that reads from top to bottom.

An answer of a person begins another execution. What is deployed and was decided is in the database, so that each
execution goes on where the one before stopped.
"""

from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from agents.deployment import CommandOutcome, Deployer
from domain.deployments.deployment import Cause, Deployment, DeploymentState
from domain.errors import ForgeError
from domain.gates import Gate
from domain.github.pull_requests import RequiredCheck
from domain.runs.run import Phase, ReasonCode, Run, RunState
from memory.deployments import deployments
from pipeline.checkout import fetch_commits
from pipeline.context import Services
from pipeline.deployment.plan import DeploymentPlan, load_or_keep, load_plan
from pipeline.deployment.rollout import Rollout, RolloutEnd
from pipeline.deployment.status import DeploymentGates, DeploymentStatus
from pipeline.publishing.deployment_record import close_deployment, wake_waiting
from pipeline.publishing.gate_checks import show_gates
from pipeline.run_context import RunContext, run_while_current
from pipeline.runs.lifecycle import RunWorkflow, enter_phase, leave_phase
from safety.allowed_actions import ChecksState, RequiredChecks, evaluate_checks

_LOOK_PAUSE = timedelta(seconds=30)
_LOOKS = 120  # an hour in all
_BUILT = "build"
_TURN_PAUSE = timedelta(minutes=1)  # usually the deployment before wakes it earlier

_REASONS = {
    DeploymentState.healthy: (RunState.completed, ReasonCode.deployed),
    DeploymentState.unverified: (RunState.completed, ReasonCode.deployed),
    DeploymentState.degraded: (RunState.completed, ReasonCode.deployed),
    DeploymentState.rolled_back: (RunState.failed, ReasonCode.rolled_back),
    DeploymentState.stopped: (RunState.cancelled, ReasonCode.aborted),
    DeploymentState.failed: (RunState.failed, ReasonCode.error),
}


class DeploymentRun(RunWorkflow):
    """One deployment: wait for its turn, ask people, build, roll out step by step, watch, and go back if need be."""

    _waits_for = ReasonCode.watching

    def __init__(self, services: Services, run: Run, workflow_id: str | None = None) -> None:
        super().__init__(services, run, workflow_id)
        self._status = DeploymentStatus(self._context)

    async def _work(self) -> str:
        await self._journal.step("begin", self._begin)
        await enter_phase(self._context, Phase.deployment)
        if not await self._wait_for_turn():
            return await self._end(RolloutEnd(DeploymentState.stopped, "It was stopped while it waited."))
        deployment = await self._journal.step("what is deployed", self._status.load)
        plan = await self._journal.step("read plan", self._load_plan)
        self._status.plan = plan
        deployment = deployment.model_copy(update={"risk": plan.risk})
        if plan.obstacle and deployment.state.is_untouched:
            return await self._end(RolloutEnd(DeploymentState.stopped, plan.obstacle))
        return await self._end(await self._carry_out(deployment, plan))

    async def _carry_out(self, deployment: Deployment, plan: DeploymentPlan) -> RolloutEnd:
        """Ask, build and roll out; how it ended.

        :raises WaitingForGate: a person has to answer first.
        """
        if deployment.state.is_untouched:
            preparation = Preparation(self._context, deployment, plan, self._status)
            refused = await preparation.check()
            if refused is None:
                refused = await DeploymentGates(self._context, deployment, plan, self._status).ask()
            if refused is None:
                refused = await preparation.build()
            if refused is not None:
                return RolloutEnd(DeploymentState.stopped, refused)
        return await Rollout(self._context, deployment, plan, self._status).carry_out()

    async def _wait_for_turn(self) -> bool:
        """Wait until no other deployment works in the environment; False if it was stopped meanwhile."""
        while not await self._journal.step("is it its turn", self._claim):
            await self._status.show(DeploymentState.queued)
            if await self._journal.step("is it stopped", self._status.is_stopped):
                return False
            await self._journal.pause(_TURN_PAUSE, "Another deployment goes to the same environment.")
        return True

    async def _end(self, end: RolloutEnd) -> str:
        """Record how it ended, tell it, and let the next one begin."""
        await self._status.show(end.state, detail=end.detail, output=end.output)
        state, reason = _REASONS[end.state]
        await leave_phase(self._context, Phase.deployment)
        await self._journal.step("tell its end", self._status.comment_end, end.output)
        await self._journal.step("finish", self._finish, state, end.reason or reason, end.detail)
        self._is_over = True
        return end.state.value

    # --- steps -------------------------------------------------------------------------------------------------

    async def _begin(self) -> None:
        await self._move(RunState.running)
        await show_gates(self._services, self._run)  # an answer may have started this execution
        await self._status.open()

    async def _claim(self) -> bool:
        deployment = await self._status.load()
        return await deployments.claim_environment(self._services.database, self._run, deployment.environment)

    async def _load_plan(self) -> DeploymentPlan:
        load = partial(load_plan, self._services, self._run, await self._status.load())
        return await load_or_keep(self._services, self._run, "plan", DeploymentPlan, load)

    async def _finish(self, state: RunState, reason: ReasonCode, detail: str) -> None:
        await self._move(state, reason, detail[:1_000])
        await wake_waiting(self._services, await self._status.load())

    async def _show_waiting(self, gate: Gate) -> None:
        """Its check says so already."""

    async def _show_failure(self, error: ForgeError) -> None:
        await self._status.give_up(f"Forge could not go on: {error}")

    async def _close(self) -> None:
        await close_deployment(self._services, self._run)


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
            if await self.context.journal.step("is it stopped", self.status.is_stopped):
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
        build = partial(self._build_while_current, line)
        return await load_or_keep(self.context.services, self.context.run, _BUILT, CommandOutcome, build)

    async def _build_while_current(self, line: str) -> CommandOutcome:
        return await run_while_current(self.context.services, self.context.run, self._build(line))

    async def _build(self, line: str) -> CommandOutcome:
        services, run = self.context.services, self.context.run
        mirror = await fetch_commits(services, run.repository, run.number, run.head_sha, run.head_sha)
        deployer = Deployer(mirror, services.toolbox, self.plan.configuration.commands)
        return await deployer.build(run.head_sha, line, self.plan.configuration.deploy.build.artifact)
