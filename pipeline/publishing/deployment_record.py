"""Shows a deployment on GitHub: in a check and a comment, and in GitHub's own record; ends what its run cannot end."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from domain.deployments.deployment import CHECK_ID_PREFIX, Deployment, DeploymentState, Wish
from domain.errors import Forbidden, HostFailure, NotFound
from domain.github.checks import Button, CheckRun, HostDeploymentState
from domain.review.review import Conclusion
from domain.runs.run import ReasonCode, Run
from memory.deployments import deployments
from memory.runs import outbox, runs, waits
from messages import deployments as texts
from messages.deployments import DeploymentReport
from pipeline.context import Services
from pipeline.publishing.checks import build_check, complete_check, ensure_check, update_check
from pipeline.publishing.comments import ensure_comment
from pipeline.publishing.publisher import write_once

CONCLUSIONS = {
    DeploymentState.asking: Conclusion.action_required,
    DeploymentState.holding: Conclusion.action_required,
    DeploymentState.healthy: Conclusion.success,
    DeploymentState.unverified: Conclusion.neutral,
    DeploymentState.degraded: Conclusion.neutral,
    DeploymentState.rolled_back: Conclusion.failure,
    DeploymentState.stopped: Conclusion.cancelled,
    DeploymentState.failed: Conclusion.action_required,
}
_HOLD = Button(label="Hold", description="Stop before the next step", identifier=Wish.hold)
_GO_ON = Button(label="Go on", description="Let the next step begin", identifier=Wish.go_on)
_ROLL_BACK = Button(label="Roll back", description="Deploy what was there before", identifier=Wish.roll_back)
_CREATION = "deployment"

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
class DeploymentCheck:
    """The check and the comment of one deployment. Every method may be repeated and then changes nothing."""

    services: Services
    run: Run

    async def open(self, report: DeploymentReport) -> None:
        """Show that it was admitted.

        :raises Superseded: it was ended.
        """
        await ensure_check(self.services, self.run, _CREATION, self._build(report))

    async def show(self, report: DeploymentReport, step: str) -> None:
        """Show where it stands, once for each step."""
        await complete_check(self.services, self.run, _CREATION, f"deployment {step}", self._build(report))

    async def find_url(self) -> str:
        """Where people read it; empty if it is not there yet."""
        check_id = await outbox.find_remote_id(self.services.database, self.run.id, _CREATION, "check")
        if check_id is None:
            return ""
        return f"{self.services.host.page(self.run.repository)}/runs/{check_id}"

    async def show_progress(self, report: DeploymentReport) -> None:
        """Show the newest figures; see :class:`pipeline.publishing.publisher.ProgressUpdates`."""
        await update_check(self.services, self.run, _CREATION, self._build(report))

    async def comment_end(self, report: DeploymentReport, numbers: Sequence[int]) -> None:
        """Tell on its pull request, and on the issue behind that, how it ended."""
        for number in numbers:
            marker = self.services.markers.make("deployment", f"{self.run.id} {number}")
            where = self.run.model_copy(update={"number": number})
            try:
                text = texts.render_end(report, marker)
                await ensure_comment(self.services, where, f"deployment ended {number}", marker, text)
            except (Forbidden, NotFound):  # locked or deleted: the check says it
                continue

    async def close(self, report: DeploymentReport) -> None:
        """Show that something else ended it, although it may not write any more."""
        found = await self.services.host.find_check_run(self.run.repository, self.run.head_sha, self._external_id)
        if found is not None:
            await self.services.host.update_check_run(self.run.repository, found.id, self._build(report))

    @property
    def _external_id(self) -> str:
        return f"{CHECK_ID_PREFIX}{self.run.id}"

    def _build(self, report: DeploymentReport) -> CheckRun:
        deployment, head = report.deployment, self.run.head_sha
        name, text = texts.check_name(deployment.environment), texts.render_check(report)
        status = "queued" if deployment.state is DeploymentState.queued else "in_progress"
        check = build_check(name, head, self._external_id, text, CONCLUSIONS.get(deployment.state), status)
        return check.model_copy(update={"buttons": _list_buttons(deployment)})


def _list_buttons(deployment: Deployment) -> tuple[Button, ...]:
    """GitHub shows them once a check is completed; before that there are the commands."""
    state = deployment.state
    back = (_ROLL_BACK,) if deployment.previous_sha else ()
    if state is DeploymentState.holding:
        return (_GO_ON, *back)
    if state.is_there:
        return back
    return () if state.is_over or state.is_untouched or state is DeploymentState.rolling_back else (_HOLD, *back)


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
        write = partial(self._add_status, github_id, state, description, log_url)
        await write_once(self.services, self.run, f"{self.key} {step}", "deployment_status", write)

    async def report_end(self, state: HostDeploymentState, description: str) -> None:
        """Say how it ended although its run may not write any more; nothing if it was never announced."""
        github_id = await deployments.get_github_id(self.services.database, self.run.id)
        if github_id is None:
            return
        try:
            await self._add_status(github_id, state, description, "")
        except HostFailure:  # the check says it, too
            return

    async def _add_status(self, github_id: int, state: HostDeploymentState, description: str, log_url: str) -> int:
        return await self.services.host.add_deployment_status(
            self.run.repository,
            github_id,
            state,
            description=description,
            log_url=log_url,
            environment_url=self.url,
            auto_inactive=state is HostDeploymentState.success,
        )

    async def _find_or_create(self, required: Sequence[str]) -> int:
        host, repository, environment = self.services.host, self.run.repository, self.deployment.environment
        find = partial(host.find_deployment, repository, self.sha, environment, self.key)
        create = partial(
            host.create_deployment,
            repository,
            sha=self.sha,
            environment=environment,
            is_production=self.deployment.is_production,
            description=f"{self.deployment.cause.value}, by Forge",
            payload={"forge": self.key},
            required_contexts=required,
        )
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
