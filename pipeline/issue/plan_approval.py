"""Asks people about the plan of an issue's run: may it be carried out, with which files, may a phase be left."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TypeVarTuple

from domain.config.conditions import Fact
from domain.gates import Gate, GateRequest, GateState, Option, digest
from domain.runs.run import Phase, Run, RunState, Trigger
from domain.verdicts import Reason
from memory import gates
from memory.runs import transitions
from messages import plan as plan_texts
from pipeline.gates.ask import WaitingForGate, open_gate
from pipeline.issue.issue_input import PlannedIssue
from pipeline.issue.status_comment import REFUSAL_REASONS, RunEnd, end_rejected
from pipeline.run_context import RunContext
from pipeline.runs.lifecycle import leave_phase
from safety.gate_requests import build_request, default_options
from safety.gates import has_custom, list_custom
from safety.plan_risk import list_grantable, needs_approval

Arguments = TypeVarTuple("Arguments")

_PLAN, _PATHS = "architecture_approval", "protected_paths"
_PLAN_OPTIONS = default_options(_PLAN, "the run ends, and nothing is changed")
_APPROVE, _CONDITIONS, *_REST = default_options(
    _PATHS, "the run goes on without these files, which stay as they are; it ends if the plan names no others"
)
_PATHS_OPTIONS = (
    Option(command=_APPROVE.command, effect="agents may change exactly these files, and no other protected ones"),
    Option(command=_CONDITIONS.command, effect="the same, and your conditions go with it"),
    *_REST,
)


@dataclass(frozen=True)
class GrantedPaths:
    """What people decided about the protected files of a plan.

    :param paths: agents may change these, and no other protected ones.
    :param refused: the plan names these, and agents must leave them alone.
    """

    paths: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()


async def ask(
    context: RunContext, key: str, open_it: Callable[[*Arguments], Awaitable[Gate]], *arguments: *Arguments
) -> Gate:
    """The answer to a question, which a step asks.

    :raises WaitingForGate: nobody answered yet.
    """
    gate = await context.journal.step(key, open_it, *arguments)
    if gate.is_waiting:
        raise WaitingForGate(gate)
    return gate


async def approve_plan(context: RunContext, planned: PlannedIssue, *, is_asked: bool = False) -> GrantedPaths | RunEnd:
    """Leave the planning phase; which protected files agents may change then, or how the run ends if people refuse.

    :param is_asked: whether people approve it at any risk.
    :raises WaitingForGate: nobody answered yet.
    """
    if is_asked or needs_approval(planned.plan.level):  # if not, the run's comment shows the plan
        gate = await ask(
            context, "ask people", open_gate, context.services, context.run, _ask_plan(context.run, planned)
        )
        if gate.state is not GateState.approved:
            reason = REFUSAL_REASONS[gate.state]
            text = plan_texts.report_stop(reason, spent=await context.load_cost())
            return RunEnd(RunState.failed, reason, text)
    refused = await ConfiguredGates(context, planned).ask_at_phase_end(
        Phase.planning, 1, planned.plan.model_dump_json()
    )
    if refused is not None:
        return refused
    await leave_phase(context, Phase.planning)
    return await _ask_for_paths(context, planned)


def _ask_plan(run: Run, planned: PlannedIssue) -> GateRequest:
    """Bound to the code it was made for and to every word of the plan."""
    plan, configuration = planned.plan, planned.configuration
    subject = digest(_PLAN, run.base_sha, plan.model_dump_json())
    prompt = f"The risk of this plan is {plan.level.value}. May it be carried out?"
    is_instruction = run.trigger is Trigger.instruction
    shows = plan_texts.render_question(plan, version=0 if is_instruction else planned.input.version)
    return build_request(
        _PLAN, Phase.planning, subject, prompt, plan.reasons, configuration, options=_PLAN_OPTIONS, shows=shows
    )


async def _ask_for_paths(context: RunContext, planned: PlannedIssue) -> GrantedPaths | RunEnd:
    """Which protected files the agents of a run may change; how the run ends if people leave it no file."""
    plan = planned.plan.plan
    paths = list_grantable(plan, planned.configuration)
    if not paths:
        return GrantedPaths()
    request = _ask_paths(context.run, planned, paths)
    gate = await ask(context, "ask for protected files", open_gate, context.services, context.run, request)
    if gate.state is GateState.approved:
        return GrantedPaths(paths)
    if set(plan.files) <= set(paths):
        text = plan_texts.nothing_granted(paths, spent=await context.load_cost())
        return RunEnd(RunState.failed, REFUSAL_REASONS[gate.state], text)
    return GrantedPaths(refused=paths)


def _ask_paths(run: Run, planned: PlannedIssue, paths: tuple[str, ...]) -> GateRequest:
    """Bound to the code, to every word of the plan, and to the files it lists."""
    subject = digest(_PATHS, run.base_sha, planned.plan.model_dump_json(), *paths)
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
    where = (_PATHS, Phase.implementation, subject, prompt, [reason], planned.configuration)
    return build_request(*where, options=_PATHS_OPTIONS)


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
        key = f"ask what {phase.value} asks"
        asked = await self.context.journal.step(key, self._open_gates, phase, turn, about, known or {})
        for gate in asked:
            if gate.state in REFUSAL_REASONS:
                return await end_rejected(self.context, gate)
        for gate in asked:
            if gate.is_waiting:
                raise WaitingForGate(gate)
        return None

    async def _open_gates(self, phase: Phase, turn: int, about: str, known: Mapping[str, Fact]) -> list[Gate]:
        database, run = self.context.database, self.context.run
        if await transitions.is_left(database, run, phase, turn):
            return []
        before = await gates.list_for_run(database, run.id)
        facts = {
            "plan.risk_level": self.planned.plan.level.value,
            "plan.tasks": len(self.planned.plan.plan.tasks),
            "run.cost": await self.context.load_cost() / 1_000_000,
            "run.trigger": run.trigger.value,
            **known,
        }
        requests = list_custom(
            phase, self.planned.configuration, facts, phase.value, about, known=before, has_follower=True
        )
        return [await open_gate(self.context.services, run, each) for each in requests]


def build_test_facts(failed: int | None, coverage_delta: float | None) -> Mapping[str, Fact]:
    """The values for conditions once the tests ran.

    :param failed: how many tests failed; None if they could not run.
    :param coverage_delta: how the coverage changed, in percentage points; None if it was not compared.
    """
    facts: Mapping[str, Fact | None] = {"testing.failed": failed, "testing.coverage_delta": coverage_delta}
    return {name: value for name, value in facts.items() if value is not None}
