"""Asks people for everything that a plan needs before it is carried out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from domain.config.conditions import Fact
from domain.gates import Gate, GateRequest, GateState, digest
from domain.runs.run import Phase, Run, RunState, Trigger
from memory.gates import gates
from memory.runs import phases
from messages import plan as plan_texts
from pipeline.gates.ask import WaitingForGate, open_gate
from pipeline.issue.issue_input import PlannedIssue
from pipeline.issue.protected_paths import GrantedPaths, ask_for_paths
from pipeline.issue.status_comment import REFUSAL_REASONS, RunEnd
from pipeline.run_context import RunContext
from pipeline.runs.lifecycle import leave_phase
from safety.avoidance_gates import build_request, default_options
from safety.gates import has_custom, list_custom
from safety.plan_risk import needs_approval

_NAME = "architecture_approval"


async def approve_plan(context: RunContext, planned: PlannedIssue, *, is_asked: bool = False) -> GrantedPaths | RunEnd:
    """Leave the planning phase; which protected files agents may change then, or how the run ends if people refuse.

    :param is_asked: whether people approve it at any risk.
    :raises WaitingForGate: nobody answered yet.
    """
    refused = await _ask_approval(context, planned, is_asked=is_asked)
    if refused is None:
        gates = ConfiguredGates(context, planned)
        refused = await gates.ask_at_phase_end(Phase.planning, 1, planned.plan.model_dump_json())
    if refused is not None:
        return refused
    await leave_phase(context, Phase.planning)
    return await ask_for_paths(context, planned)


async def _ask_approval(context: RunContext, planned: PlannedIssue, *, is_asked: bool) -> RunEnd | None:
    """Ask for approval if the risk is high (``architecture_approval``); how the run ends if people refuse."""
    if not (is_asked or needs_approval(planned.plan.level)):
        return None  # the run's comment shows the plan
    request = _build_request(context.run, planned)
    gate = await context.journal.step("ask people", open_gate, context.services, context.run, request)
    if gate.is_waiting:
        raise WaitingForGate(gate)
    return None if gate.state is GateState.approved else await _end_refused(context, gate)


async def _end_refused(context: RunContext, gate: Gate) -> RunEnd:
    reason = REFUSAL_REASONS[gate.state]
    return RunEnd(RunState.failed, reason, plan_texts.report_stop(reason, spent=await context.load_cost()))


def _build_request(run: Run, planned: PlannedIssue) -> GateRequest:
    """Bound to the code it was made for and to every word of the plan."""
    plan = planned.plan
    subject = digest(_NAME, run.base_sha, plan.model_dump_json())
    prompt = f"The risk of this plan is {plan.level.value}. May it be carried out?"
    options = default_options(_NAME, "the run ends, and nothing is changed")
    is_instruction = run.trigger is Trigger.instruction
    shows = plan_texts.render_question(plan, version=0 if is_instruction else planned.input.version)
    return build_request(
        _NAME, Phase.planning, subject, prompt, plan.reasons, planned.configuration, options=options, shows=shows
    )


@dataclass(frozen=True)
class ConfiguredGates:
    """The repository's gates at the end of each phase of one run. Their conditions may use the plan."""

    context: RunContext
    planned: PlannedIssue

    async def ask_at_phase_end(
        self, phase: Phase, turn: int, about: str, known: Mapping[str, Fact] | None = None
    ) -> RunEnd | None:
        """Ask whether the run may leave a phase; how it ends if people refuse.

        :param turn: counts the times it is in that phase; it is asked once for each.
        :param about: what people approve: the plan, or the commit that the phase made.
        :param known: values for conditions, beside the plan's and the run's.
        :raises WaitingForGate: nobody answered yet.
        """
        if not has_custom(phase, self.planned.configuration):
            return None
        asked = await self.context.journal.step(
            f"ask what {phase.value} asks", self._open_gates, phase, turn, about, known or {}
        )
        return await self._judge(asked)

    async def _judge(self, asked: Sequence[Gate]) -> RunEnd | None:
        refused = next((gate for gate in asked if gate.state in REFUSAL_REASONS), None)
        if refused is not None:
            text = plan_texts.report_rejection(refused, spent=await self.context.load_cost())
            return RunEnd(RunState.failed, REFUSAL_REASONS[refused.state], text)
        waiting = next((gate for gate in asked if gate.is_waiting), None)
        if waiting is not None:
            raise WaitingForGate(waiting)
        return None

    async def _open_gates(self, phase: Phase, turn: int, about: str, known: Mapping[str, Fact]) -> list[Gate]:
        database, run = self.context.database, self.context.run
        if await phases.is_left(database, run, phase, turn):
            return []
        before = await gates.list_for_run(database, run.id)
        facts = {**await self._load_facts(), **known}
        requests = list_custom(
            phase, self.planned.configuration, facts, phase.value, about, known=before, has_follower=True
        )
        return [await open_gate(self.context.services, run, each) for each in requests]

    async def _load_facts(self) -> Mapping[str, Fact]:
        return {
            "plan.risk_level": self.planned.plan.level.value,
            "plan.tasks": len(self.planned.plan.plan.tasks),
            "run.cost": await self.context.load_cost() / 1_000_000,
            "run.trigger": self.context.run.trigger.value,
        }


def build_test_facts(failed: int | None, coverage_delta: float | None) -> Mapping[str, Fact]:
    """The values for conditions once the tests ran.

    :param failed: how many tests failed; None if they could not run.
    :param coverage_delta: how the coverage changed, in percentage points; None if it was not compared.
    """
    facts: Mapping[str, Fact | None] = {"testing.failed": failed, "testing.coverage_delta": coverage_delta}
    return {name: value for name, value in facts.items() if value is not None}
