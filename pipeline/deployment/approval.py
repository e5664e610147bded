"""Asks people before anything new is deployed: to production always, elsewhere as the automation level demands."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from domain.config.conditions import Fact
from domain.deployments.deployment import Cause, Deployment, DeploymentState
from domain.gates import Gate, GateRequest, GateState
from domain.review.review import RiskLevel
from domain.runs.run import Phase
from domain.value import Value
from domain.verdicts import Reason
from memory import gates
from memory.deployments import deployments
from messages import deployments as texts
from messages.automation import WINDOW_MINUTES
from pipeline.automation.level import load_level
from pipeline.deployment.plan import DeploymentPlan
from pipeline.deployment.status import DeploymentStatus
from pipeline.gates.ask import WaitingForGate, open_gate
from pipeline.publishing.comments import ensure_comment
from pipeline.run_context import RunContext
from safety.allowed_actions import Action, ActionDecision, ActionFacts, allows
from safety.deployment_gates import STAGING, explain_cause, request_production, request_staging
from safety.gates import list_custom

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
        if await journal.step("is it stopped", self._is_stopped):
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
        """Whether it was when this was ordered, or the configuration says so since."""
        deploy, deployment = self.plan.configuration.deploy, self.deployment
        return deployment.is_production or deploy.is_production(deployment.environment)

    async def _announce(self) -> str | None:
        """Where the level demands it, say that it begins soon, and wait."""
        journal = self.context.journal
        allowed = await journal.step("what the level allows", self._evaluate_level)
        if allowed is None or not allowed.override_window:
            return None
        announced = await journal.step("announce it", self._post_announcement, allowed)
        while (left := announced.until - await journal.step("what time it is", self._read_clock)) > timedelta(0):
            await journal.pause(left, "People have time to stop it.")
            if await journal.step("is it stopped", self._is_stopped):
                return _STOPPED
        return None

    async def _post_announcement(self, allowed: ActionDecision) -> _Announcement:
        until = self.context.now() + timedelta(minutes=WINDOW_MINUTES)
        made = _Announcement(until=until).model_dump(mode="json")
        kept = await deployments.keep(self.context.database, self.context.run.id, _ANNOUNCED, made)
        announced = _Announcement.model_validate(kept)
        services, run = self.context.services, self.context.run
        marker = services.markers.make("deployment announced", run.id)
        shown = f"{announced.until:%H:%M} UTC"
        where, sha = self.deployment.environment, self.deployment.sha
        text = texts.announce_deployment(where, sha, allowed.reason.text, shown, marker)
        await ensure_comment(services, run, _ANNOUNCED, marker, text)
        return announced

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
            return [request_production(*about, [cause], await self._render_question()), *custom]
        allowed = await self._evaluate_level()
        was_asked = any(gate.name == STAGING for gate in known)  # a level that rose since answers nothing
        if allowed is not None and (was_asked or not allowed.allowed):
            return [request_staging(*about, allowed.reason, await self._render_question()), *custom]
        if self.plan.refused:  # whoever asked for this may not know
            refused = Reason(code="deployment.refused", text=f"{', '.join(self.plan.refused)} here before")
            return [request_staging(*about, refused, await self._render_question()), *custom]
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

    async def _is_stopped(self) -> bool:
        return (await self.status.load()).is_given_up

    async def _read_clock(self) -> datetime:
        return self.context.now()


def _explain_refusal(gate: Gate) -> str:
    if gate.state is GateState.expired or gate.decision is None:
        return f"Nobody answered {gate.name} in time."
    words = f": {gate.decision.words}" if gate.decision.words else ""
    return f"{gate.decision.by_login} rejected {gate.name}{words}"
