"""Shows a deployment: in the check ``Forge / deploy: ENV`` on its commit, and in a comment at its end."""

from collections.abc import Sequence
from dataclasses import dataclass

from domain.deployments.deployment import CHECK_ID_PREFIX, Deployment, DeploymentState, Wish
from domain.errors import Forbidden, NotFound
from domain.github.checks import Button, CheckRun
from domain.review.review import Conclusion
from domain.runs.run import Run
from domain.text.redaction import redact_outgoing
from memory.runs import outbox
from messages import deployments as texts
from messages.deployments import DeploymentReport
from messages.review import CheckText
from pipeline.context import Services
from pipeline.publishing.checks import complete_check, ensure_check, update_check
from pipeline.publishing.comments import ensure_comment

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
        return f"{self.services.host.clone_url(self.run.repository).removesuffix('.git')}/runs/{check_id}"

    async def show_progress(self, report: DeploymentReport) -> None:
        """Show the newest figures; see :class:`pipeline.publishing.progress.ProgressUpdates`."""
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
        text, state = texts.render_check(report), report.deployment.state
        conclusion = CONCLUSIONS.get(state)
        return _build_check(self.run, self._external_id, report.deployment.environment, text).model_copy(
            update={
                "conclusion": conclusion,
                "status": "completed" if conclusion else "queued" if state is DeploymentState.queued else "in_progress",
                "buttons": _list_buttons(report.deployment),
            }
        )


_CREATION = "deployment"


def _build_check(run: Run, external_id: str, environment: str, text: CheckText) -> CheckRun:
    return CheckRun(
        name=texts.check_name(environment),
        head_sha=run.head_sha,
        external_id=external_id,
        status="queued",
        title=redact_outgoing(text.title),
        summary=redact_outgoing(text.summary),
    )


def _list_buttons(deployment: Deployment) -> tuple[Button, ...]:
    """GitHub shows them once a check is completed; before that there are the commands."""
    state = deployment.state
    back = (_ROLL_BACK,) if deployment.previous_sha else ()
    if state is DeploymentState.holding:
        return (_GO_ON, *back)
    if state.is_there:
        return back
    return () if state.is_over or state.is_untouched or state is DeploymentState.rolling_back else (_HOLD, *back)
