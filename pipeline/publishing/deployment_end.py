"""Ends deployments whose runs something else ended, and wakes those that wait for the same environment."""

from domain.deployments.deployment import Deployment, DeploymentState
from domain.runs.run import ReasonCode, Run
from memory.deployments import deployments
from memory.runs import runs, waits
from messages import deployments as texts
from messages.deployments import DeploymentReport
from pipeline.context import Services
from pipeline.publishing.deployment_check import DeploymentCheck
from pipeline.publishing.deployment_record import REPORTED, GitHubRecord


async def load_deployment(services: Services, run: Run) -> Deployment:
    """The deployment that a run carries out."""
    found = await deployments.get(services.database, run.id)
    if found is None:
        raise LookupError(f"run {run.id} carries out no deployment")
    return found


async def stop_deployment(services: Services, run: Run, detail: str) -> None:
    """Record that a deployment ends here: nothing happened, or nobody knows what is deployed."""
    deployment = await load_deployment(services, run)
    state = DeploymentState.stopped if deployment.is_untouched else DeploymentState.failed
    await deployments.move(services.database, run, state, services.clock.now(), detail=detail)
    await wake_waiting(services, deployment)


async def close_deployment(services: Services, run: Run) -> None:
    """Show how a deployment ended whose run something else ended; may be repeated."""
    before = await load_deployment(services, run)
    why = await _explain(services, run)
    detail = why if before.is_untouched else f"{why} {before.percentage} % of the traffic had it."
    await stop_deployment(services, run, detail)
    deployment = await load_deployment(services, run)
    steps = await deployments.list_steps(services.database, run.id)
    await DeploymentCheck(services, run).close(DeploymentReport(deployment, steps=steps))
    if before.state.is_over:
        return
    record = GitHubRecord(services, run, deployment, deployment.sha, run.id)
    await record.report_end(REPORTED[deployment.state], texts.render_title(deployment))


async def _explain(services: Services, run: Run) -> str:
    """Why its run ended, for people: what the run keeps is for the log."""
    ended = await runs.get(services.database, run.id)
    return "Its run was ended." if ended is None else _WHY.get(ended.reason, "Its run was ended.")


_WHY = {
    ReasonCode.paused: "Forge was paused in this repository.",
    ReasonCode.superseded: "A newer deployment replaced it.",
    ReasonCode.access_lost: "Forge lost its access to this repository.",
}


async def wake_waiting(services: Services, deployment: Deployment) -> None:
    """Let the deployments that wait for an environment look again."""
    others = await deployments.list_open(services.database, deployment.repository_id, deployment.environment)
    for each in others:
        await waits.end(services.database, each.run_id, services.clock.now())
