"""Asks people for everything that a plan needs before it is carried out."""

from domain.gates import Gate, GateRequest, GateState, digest
from domain.runs.run import Phase, Run, RunState, Trigger
from messages import plan as plan_texts
from pipeline.gates.ask import WaitingForGate, open_gate
from pipeline.issue.configured_gates import ConfiguredGates
from pipeline.issue.issue_input import PlannedIssue
from pipeline.issue.protected_paths import GrantedPaths, ask_for_paths
from pipeline.issue.run_end import REFUSAL_REASONS, RunEnd
from pipeline.run_context import RunContext
from pipeline.runs.lifecycle import leave_phase
from safety.avoidance_gates import build_request, default_options
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
