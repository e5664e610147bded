"""Asks people whether an agent may change the protected files that a plan names (``protected_paths``)."""

from dataclasses import dataclass

from domain.config.configuration import Configuration
from domain.gates import GateRequest, GateState, Option, digest
from domain.runs.plan import RatedPlan
from domain.runs.run import Phase, Run, RunState
from domain.verdicts import Reason
from messages import plan as plan_texts
from pipeline.gates.ask import WaitingForGate, open_gate
from pipeline.issue.issue_input import PlannedIssue
from pipeline.issue.status_comment import REFUSAL_REASONS, RunEnd
from pipeline.run_context import RunContext
from safety.avoidance_gates import build_request, default_options
from safety.plan_risk import list_grantable

_NAME = "protected_paths"


@dataclass(frozen=True)
class GrantedPaths:
    """What people decided about the protected files of a plan.

    :param paths: agents may change these, and no other protected ones.
    :param refused: the plan names these, and agents must leave them alone.
    """

    paths: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()


NOTHING_GRANTED = GrantedPaths()


async def ask_for_paths(context: RunContext, planned: PlannedIssue) -> GrantedPaths | RunEnd:
    """Which protected files the agents of a run may change; how the run ends if people leave it no file.

    :raises WaitingForGate: nobody answered yet.
    """
    plan = planned.plan.plan
    paths = list_grantable(plan, planned.configuration)
    if not paths:
        return NOTHING_GRANTED
    request = _build_request(context.run, planned.plan, paths, planned.configuration)
    gate = await context.journal.step("ask for protected files", open_gate, context.services, context.run, request)
    if gate.is_waiting:
        raise WaitingForGate(gate)
    if gate.state is GateState.approved:
        return GrantedPaths(paths)
    if set(plan.files) <= set(paths):
        text = plan_texts.nothing_granted(paths, spent=await context.load_cost())
        return RunEnd(RunState.failed, REFUSAL_REASONS[gate.state], text)
    return GrantedPaths(refused=paths)


def _build_request(run: Run, plan: RatedPlan, paths: tuple[str, ...], configuration: Configuration) -> GateRequest:
    """Bound to the code, to every word of the plan, and to the files it lists."""
    subject = digest(_NAME, run.base_sha, plan.model_dump_json(), *paths)
    noun = "file" if len(paths) == 1 else "files"
    reason = Reason(
        code="plan.protected_path",
        text=f"The plan changes {len(paths)} protected {noun}",
        value=len(paths),
        children=tuple(Reason(code="path", text=path) for path in paths),
    )
    prompt = (
        "Agents leave these files alone, since they decide what is run, who may do what, which dependencies there are "
        "or what becomes of stored data. May they change exactly these?"
    )
    return build_request(_NAME, Phase.implementation, subject, prompt, [reason], configuration, options=_OPTIONS)


_APPROVE, _CONDITIONS, *_REST = default_options(
    _NAME, "the run goes on without these files, which stay as they are; it ends if the plan names no others"
)
_OPTIONS = (
    Option(command=_APPROVE.command, effect="agents may change exactly these files, and no other protected ones"),
    Option(command=_CONDITIONS.command, effect="the same, and your conditions go with it"),
    *_REST,
)
