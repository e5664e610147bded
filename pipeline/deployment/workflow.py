"""The run of one deployment, as a durable workflow that reads from top to bottom.

An answer of a person begins another execution. What is deployed and was decided is in the database, so that each
execution goes on where the one before stopped.
"""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import TypeVar

from pydantic import BaseModel

from domain.deployments.deployment import Deployment, DeploymentState
from domain.errors import ForgeError
from domain.gates import Gate
from domain.runs.run import Phase, ReasonCode, Run, RunState
from memory.deployments import deployments
from pipeline.context import Services
from pipeline.deployment.approval import DeploymentGates
from pipeline.deployment.plan import DeploymentPlan, load_plan
from pipeline.deployment.preparation import Preparation
from pipeline.deployment.rollout import Rollout, RolloutEnd
from pipeline.deployment.status import DeploymentStatus
from pipeline.gates.ask import show_gates
from pipeline.runs.lifecycle import RunWorkflow

_TURN_PAUSE = timedelta(minutes=1)  # usually the deployment before wakes it earlier

Kept = TypeVar("Kept", bound=BaseModel)

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
        await self._enter_phase(Phase.deployment)
        if not await self._wait_for_turn():
            return await self._end(RolloutEnd(DeploymentState.stopped, "It was stopped while it waited."))
        deployment = await self._journal.step("what is deployed", self._load)
        plan = await self._keep("plan", DeploymentPlan, self._load_plan)
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
            if await self._journal.step("is it stopped", self._is_stopped):
                return False
            await self._journal.pause(_TURN_PAUSE, "Another deployment goes to the same environment.")
        return True

    async def _keep(self, name: str, kind: type[Kept], load: Callable[[], Awaitable[Kept]]) -> Kept:
        """What an earlier execution read; else what is read now, and kept."""

        async def read() -> Kept:
            kept = await deployments.load_kept(self._services.database, self._run.id, name)
            if kept is None:
                made = (await load()).model_dump(mode="json")
                kept = await deployments.keep(self._services.database, self._run.id, name, made)
            return kind.model_validate(kept)

        return await self._journal.step_as(kind, f"read {name}", read)

    async def _end(self, end: RolloutEnd) -> str:
        """Record how it ended, tell it, and let the next one begin."""
        await self._status.show(end.state, detail=end.detail, output=end.output)
        state, reason = _REASONS[end.state]
        await self._leave_phase(Phase.deployment)
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

    async def _is_stopped(self) -> bool:
        return (await self._status.load()).is_given_up

    async def _load(self) -> Deployment:
        return await self._status.load()

    async def _load_plan(self) -> DeploymentPlan:
        return await load_plan(self._services, self._run, await self._status.load())

    async def _finish(self, state: RunState, reason: ReasonCode, detail: str) -> None:
        await self._move(state, reason, detail[:1_000])
        await self._status.wake_next()

    async def _show_waiting(self, gate: Gate) -> None:
        """Its check says so already."""

    async def _show_failure(self, error: ForgeError) -> None:
        await self._status.give_up(f"Forge could not go on: {error}")

    async def _close(self) -> None:
        await self._status.close()
