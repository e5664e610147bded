"""Keeps GitHub's own record of a deployment: it is created once, and each state is said once."""

from collections.abc import Sequence
from dataclasses import dataclass

from domain.deployments.deployment import Deployment, DeploymentState
from domain.errors import CodeHostError, RateLimited
from domain.github.deployments import HostDeploymentState
from domain.runs.run import Run
from memory.deployments import deployments
from pipeline.context import Services
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
