"""Keeps what shows a deployment true: its row, its check, GitHub's own record, and the comment at its end."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from domain.deployments.deployment import Deployment, DeploymentState, Step
from domain.deployments.health import StageHealth
from domain.gates import Gate
from memory.deployments import deployments
from messages import deployments as texts
from messages.deployments import DeploymentReport
from pipeline.deployment.plan import DeploymentPlan
from pipeline.publishing.deployment_record import (
    REPORTED,
    DeploymentCheck,
    GitHubRecord,
    close_deployment,
    load_deployment,
    stop_deployment,
    wake_waiting,
)
from pipeline.run_context import RunContext


class DeploymentStatus:
    """What shows one deployment. Every method may be repeated after a crash and then changes nothing.

    :ivar plan: None until it was read.
    """

    def __init__(self, context: RunContext) -> None:
        self._context = context
        self._services = context.services
        self._run = context.run
        self._check = DeploymentCheck(context.services, context.run)
        self.plan: DeploymentPlan | None = None

    async def load(self) -> Deployment:
        """The deployment as it stands."""
        return await load_deployment(self._services, self._run)

    async def is_stopped(self) -> bool:
        """Whether people or something else gave it up."""
        return (await self.load()).is_given_up

    async def open(self) -> None:
        """Show that it was admitted."""
        await self._check.open(await self._build_report())

    async def show(
        self,
        state: DeploymentState,
        *,
        detail: str = "",
        percentage: int | None = None,
        step: Step | None = None,
        output: str = "",
        question: Gate | None = None,
    ) -> None:
        """Record where it stands, and show it on GitHub.

        :param detail: why, for people.
        :param percentage: of the traffic it has now; None: as before.
        :param step: that was deployed and watched.
        :param output: the end of what a command printed.
        :param question: what people are asked.
        """
        journal = self._context.journal
        await journal.step(f"note {state.value}", self._move, state, detail, percentage, step)
        await self._context.progress.quiet()
        await journal.step(f"show {state.value}", self._show, output, question)

    def show_look(self, now: StageHealth, doing: str) -> None:
        """Show the newest figures in a moment, or never."""
        self._context.progress.post_later(partial(self._show_progress, now, doing))

    async def comment_end(self, output: str) -> None:
        """Tell on the pull request and the issue how it ended."""
        await self._check.comment_end(await self._build_report(output=output), self._numbers)

    async def give_up(self, detail: str) -> None:
        """Record that Forge could not go on, and show it."""
        await stop_deployment(self._services, self._run, detail)
        report = await self._build_report()
        await self._check.show(report, f"given up {report.deployment.state.value}")
        await self._report_to_github(report.deployment)
        await self._check.comment_end(report, self._numbers)

    async def close(self) -> None:
        """Record that something else ended its run, and show that."""
        await close_deployment(self._services, self._run)

    async def wake_next(self) -> None:
        """Let the deployment that waits for this environment look again."""
        await wake_waiting(self._services, await self.load())

    @property
    def _numbers(self) -> tuple[int, ...]:
        return (self._run.number,) if self.plan is None else self.plan.numbers

    @property
    def _url(self) -> str:
        return "" if self.plan is None else self.plan.environment.url or ""

    async def _move(self, state: DeploymentState, detail: str, percentage: int | None, step: Step | None) -> None:
        database, now = self._services.database, self._context.now()
        await deployments.move(database, self._run, state, now, detail=detail, percentage=percentage, step=step)

    async def _show(self, output: str, question: Gate | None) -> None:
        report = replace(
            await self._build_report(output=output), question=question, question_url=self._find_question(question)
        )
        deployment = report.deployment
        await self._check.show(report, f"{deployment.state.value} {deployment.percentage} {len(report.steps)}")
        await self._report_to_github(deployment)

    def _find_question(self, gate: Gate | None) -> str:
        """Where people read a question; empty if there is no comment of it."""
        if gate is None or gate.comment_id is None:
            return ""
        page = self._services.host.clone_url(gate.repository).removesuffix(".git")
        return f"{page}/issues/{gate.number}#issuecomment-{gate.comment_id}"

    async def _report_to_github(self, deployment: Deployment) -> None:
        state = REPORTED.get(deployment.state)
        known = await deployments.get_github_id(self._services.database, self._run.id)
        if state is not None and known is not None:
            step = f"{deployment.state.value} {deployment.percentage}"
            title, log_url = texts.render_title(deployment), await self._check.find_url()
            record = GitHubRecord(self._services, self._run, deployment, deployment.sha, self._run.id, self._url)
            await record.report(state, step, title, log_url)

    async def _show_progress(self, now: StageHealth, doing: str) -> None:
        await self._check.show_progress(await self._build_report(now=now, doing=doing))

    async def _build_report(
        self, *, now: StageHealth | None = None, doing: str = "", output: str = ""
    ) -> DeploymentReport:
        steps: Sequence[Step] = await deployments.list_steps(self._services.database, self._run.id)
        stages = () if self.plan is None else self.plan.stages
        return DeploymentReport(await self.load(), stages, steps, now, doing, self._url, output)
