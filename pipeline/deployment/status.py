"""Shows where a deployment stands, and asks people before anything new is deployed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial

from domain.config.conditions import Fact
from domain.deployments.deployment import Cause, Deployment, DeploymentState, Step
from domain.deployments.health import StageHealth
from domain.gates import Gate, GateRequest, GateState
from domain.review.review import RiskLevel
from domain.runs.run import Phase
from domain.value import Value
from domain.verdicts import Reason
from memory import gates
from memory.deployments import deployments
from messages import deployments as texts
from messages.automation import WINDOW_MINUTES
from messages.deployments import DeploymentReport
from pipeline.automation.level import load_level
from pipeline.deployment.plan import DeploymentPlan, load_or_keep
from pipeline.gates.ask import WaitingForGate, open_gate
from pipeline.publishing.comments import ensure_comment
from pipeline.publishing.deployment_record import (
    REPORTED,
    DeploymentCheck,
    GitHubRecord,
    load_deployment,
    stop_deployment,
)
from pipeline.run_context import RunContext
from safety.allowed_actions import Action, ActionDecision, ActionFacts, allows
from safety.gate_requests import PRODUCTION, STAGING, explain_cause, request_deployment
from safety.gates import list_custom


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
        page = self._services.host.page(gate.repository)
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


_PAST = 5  # earlier deployments that are shown
_STOPPED = "It was stopped before anything was deployed."
_ANNOUNCED = "announced"


class _Announcement(Value):
    until: datetime


@dataclass(frozen=True)
class DeploymentGates:
    """What one deployment asks before it begins."""

    context: RunContext
    deployment: Deployment
    plan: DeploymentPlan
    status: DeploymentStatus

    async def ask(self) -> str | None:
        """Ask, or announce it and leave people time to object; why it ends here, or None.

        :raises WaitingForGate: nobody answered yet.
        """
        journal = self.context.journal
        if await journal.step("is it stopped", self.status.is_stopped):
            return _STOPPED
        asked = await journal.step("ask", self._open_gates)
        refused = next((gate for gate in asked if gate.state in {GateState.rejected, GateState.expired}), None)
        if refused is not None:
            return _explain_refusal(refused)
        waiting = next((gate for gate in asked if gate.is_waiting), None)
        if waiting is not None:
            await self.status.show(DeploymentState.asking, question=waiting)
            raise WaitingForGate(waiting)
        return None if asked else await self._announce()

    @property
    def _is_production(self) -> bool:
        return self.plan.reaches_production(self.deployment)

    async def _announce(self) -> str | None:
        """Where the level demands it, say that it begins soon, and wait."""
        journal = self.context.journal
        allowed = await journal.step("what the level allows", self._evaluate_level)
        if allowed is None or not allowed.override_window:
            return None
        announced = await journal.step("announce it", self._post_announcement, allowed)
        while (left := announced.until - await journal.read_time()) > timedelta(0):
            await journal.pause(left, "People have time to stop it.")
            if await journal.step("is it stopped", self.status.is_stopped):
                return _STOPPED
        return None

    async def _post_announcement(self, allowed: ActionDecision) -> _Announcement:
        services, run = self.context.services, self.context.run
        announced = await load_or_keep(services, run, _ANNOUNCED, _Announcement, self._plan_announcement)
        marker = services.markers.make("deployment announced", run.id)
        shown = f"{announced.until:%H:%M} UTC"
        where, sha = self.deployment.environment, self.deployment.sha
        text = texts.announce_deployment(where, sha, allowed.reason.text, shown, marker)
        await ensure_comment(services, run, _ANNOUNCED, marker, text)
        return announced

    async def _plan_announcement(self) -> _Announcement:
        return _Announcement(until=self.context.now() + timedelta(minutes=WINDOW_MINUTES))

    async def _open_gates(self) -> list[Gate]:
        known = await gates.list_for_run(self.context.database, self.context.run.id)
        return [
            await open_gate(self.context.services, self.context.run, each) for each in await self._list_requests(known)
        ]

    async def _list_requests(self, known: Sequence[Gate]) -> list[GateRequest]:
        deployment, configuration = self.deployment, self.plan.configuration
        about = (configuration, deployment.environment, deployment.sha, self.context.run.id)
        custom = list_custom(
            Phase.deployment,
            configuration,
            self._build_facts(),
            deployment.environment,
            deployment.sha,
            known=known,
        )
        if deployment.cause is Cause.rollback:  # whoever asked has the role, and people wait for it
            return custom
        if self._is_production:
            cause = explain_cause(deployment.cause, self.plan.requester or "Somebody")
            return [request_deployment(PRODUCTION, *about, cause, await self._render_question()), *custom]
        allowed = await self._evaluate_level()
        was_asked = any(gate.name == STAGING for gate in known)  # a level that rose since answers nothing
        if allowed is not None and (was_asked or not allowed.allowed):
            return [request_deployment(STAGING, *about, allowed.reason, await self._render_question()), *custom]
        if self.plan.refused:  # whoever asked for this may not know
            refused = Reason(code="deployment.refused", text=f"{', '.join(self.plan.refused)} here before")
            return [request_deployment(STAGING, *about, refused, await self._render_question()), *custom]
        return custom

    async def _evaluate_level(self) -> ActionDecision | None:
        """Whether the level lets Forge do this unasked; None if a person asked for it."""
        if self._is_production or self.deployment.cause is not Cause.merge:
            return None
        repository_id, bounds = self.context.run.repository.id, self.plan.configuration.ladder
        level = await load_level(self.context.services, repository_id, bounds)
        facts = ActionFacts(risk=self.plan.risk, touches_protected=self.plan.touches_protected)
        return allows(level, Action.staging_deploy, facts)

    async def _render_question(self) -> str:
        services, run, deployment = self.context.services, self.context.run, self.deployment
        where = (run.repository.id, deployment.environment)
        past = [
            each
            for each in await deployments.list_latest(services.database, *where, limit=_PAST + 1)
            if each.run_id != run.id
        ]
        watches = self.plan.environment.verify.watches
        back = texts.explain_rollback_plan(deployment.previous_sha, watches=watches)
        report = texts.DeploymentReport(deployment, self.plan.stages, url=self.plan.environment.url or "")
        return texts.render_question(report, self.plan.facts, past[:_PAST], back)

    def _build_facts(self) -> Mapping[str, Fact]:
        return {
            "deployment.environment": self.deployment.environment,
            "deployment.production": self._is_production,
            "deployment.risk_level": (self.plan.risk or RiskLevel.high).value,
            "deployment.cause": self.deployment.cause.value,
            "run.trigger": self.context.run.trigger.value,
            "run.cost": 0.0,
        }


def _explain_refusal(gate: Gate) -> str:
    if gate.state is GateState.expired or gate.decision is None:
        return f"Nobody answered {gate.name} in time."
    words = f": {gate.decision.words}" if gate.decision.words else ""
    return f"{gate.decision.by_login} rejected {gate.name}{words}"
