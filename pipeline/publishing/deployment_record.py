"""Keeps GitHub's own record of a deployment, and ends deployments whose runs something else ended."""

from collections.abc import Sequence
from dataclasses import dataclass

from domain.deployments.deployment import Deployment, DeploymentState
from domain.errors import CodeHostError, RateLimited
from domain.github.checks import HostDeploymentState
from domain.runs.run import ReasonCode, Run
from memory.deployments import deployments
from memory.runs import runs, waits
from messages import deployments as texts
from messages.deployments import DeploymentReport
from pipeline.context import Services
from pipeline.publishing.deployment_check import DeploymentCheck
from pipeline.publishing.publisher import write_once

REPORTED = {
    DeploymentState.rolling_out: HostDeploymentState.in_progress,
    DeploymentState.holding: HostDeploymentState.in_progress,
    DeploymentState.rolling_back: HostDeploymentState.in_progress,
    DeploymentState.healthy: HostDeploymentState.success,
    DeploymentState.unverified: HostDeploymentState.success,
    DeploymentState.degraded: HostDeploymentState.success,
    DeploymentState.rolled_back: HostDeploymentState.failure,
    DeploymentState.stopped: HostDeploymentState.inactive,
    DeploymentState.failed: HostDeploymentState.error,
}
"""What GitHub is told in each state; nothing in those that are missing."""


@dataclass(frozen=True)
class GitHubRecord:
    """GitHub's deployment of one commit to one environment.

    :param deployment: of Forge; its environment and kind.
    :param sha: the commit: that of the deployment, or the one it goes back to.
    :param key: by which it is found again.
    :param url: where people find the environment; empty if nobody said.
    """

    services: Services
    run: Run
    deployment: Deployment
    sha: str
    key: str
    url: str = ""

    async def create(self, required: Sequence[str]) -> None:
        """Announce it, unless it is there already.

        :param required: names of checks that must have succeeded.
        :raises Unprocessable: one of them did not.
        """
        await self._find_or_create(required)

    async def report(self, state: HostDeploymentState, step: str, description: str, log_url: str = "") -> None:
        """Say how it goes, once for each step.

        :param log_url: where people read more; empty if there is nothing to read.
        """
        github_id = await self._find_or_create(())

        async def write() -> int:
            return await self.services.host.add_deployment_status(
                self.run.repository,
                github_id,
                state,
                description=description,
                log_url=log_url,
                environment_url=self.url,
                auto_inactive=state is HostDeploymentState.success,
            )

        await write_once(self.services, self.run, f"{self.key} {step}", "deployment_status", write)

    async def report_end(self, state: HostDeploymentState, description: str) -> None:
        """Say how it ended although its run may not write any more; nothing if it was never announced."""
        github_id = await deployments.get_github_id(self.services.database, self.run.id)
        if github_id is None:
            return
        try:
            await self.services.host.add_deployment_status(
                self.run.repository,
                github_id,
                state,
                description=description,
                log_url="",
                environment_url="",
                auto_inactive=False,
            )
        except RateLimited:
            raise
        except CodeHostError:  # the check says it, too
            return

    async def _find_or_create(self, required: Sequence[str]) -> int:
        host, repository, environment = self.services.host, self.run.repository, self.deployment.environment

        async def find() -> int | None:
            found = await host.find_deployment(repository, self.sha, environment, self.key)
            return None if found is None else found.id

        async def create() -> int:
            made = await host.create_deployment(
                repository,
                sha=self.sha,
                environment=environment,
                is_production=self.deployment.is_production,
                description=f"{self.deployment.cause.value}, by Forge",
                payload={"forge": self.key},
                required_contexts=required,
            )
            return made.id

        github_id = await write_once(self.services, self.run, self.key, "deployment", create, find=find)
        if self.key == self.run.id:
            await deployments.keep_github_id(self.services.database, self.run.id, github_id)
        return github_id


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
