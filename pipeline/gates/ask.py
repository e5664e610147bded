"""Puts questions to people: asks each once, shows it on GitHub, and shows what was answered."""

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum

import structlog

from domain.errors import CodeHostError, Forbidden, Halted, RateLimited, Superseded, Unprocessable
from domain.gates import Gate, GateRequest, GateState
from domain.runs.run import RepositoryRef, Run, Trigger
from memory import gates, reservations
from memory.runs import outbox, runs
from pipeline.context import Services
from pipeline.gates.authorship import find_lone_author
from pipeline.publishing import gate_checks
from pipeline.publishing.instructions import load_instruction
from safety.github_limits import Importance, use_importance

log = structlog.get_logger(__name__)


class WaitingForGate(Exception):
    """The run waits for a person, so this execution of it is over; the answer begins the next one."""

    def __init__(self, gate: Gate) -> None:
        self.gate = gate
        super().__init__(gate.short_id)


async def open_gate(services: Services, run: Run, request: GateRequest) -> Gate:
    """Ask, unless this was asked before, and show the question; may be repeated.

    :returns: the gate as it stands, decided perhaps.
    :raises Superseded: if another run owns the pull request.
    """
    gate = await gates.ask(services.database, run, await _place(services, run, request), services.clock.now())
    return await show_gate(services, run, gate)


async def _place(services: Services, run: Run, request: GateRequest) -> GateRequest:
    """The question with where it is shown: what the run of an issue asks, on its pull request, too, once that is there.

    What a deployment asks is shown on the commit that is deployed, and where somebody merged it or asked for it. Who
    changed protected files and has nobody to ask is asked in one place.

    :raises CodeHostError: if GitHub does not say what the head of that is.
    """
    if run.trigger is Trigger.deployment:
        return request.model_copy(update={"on_issue": True, "proposed_head": run.head_sha})
    if run.trigger is Trigger.instruction:
        verb = (await load_instruction(services.database, run)).asked.verb
        return request.model_copy(update={"of_instruction": True, "verb": verb.value})
    if not run.is_of_issue:
        is_shared = request.name != "protected_paths" or not request.not_author
        lone = "" if is_shared else await find_lone_author(services, run.repository, run.number, request.role)
        return request.model_copy(update={"lone_author": lone})
    number = await outbox.find_proposal(services.database, run.id)
    live = None if number is None else await services.host.pull_request(run.repository, number)
    head = live.head_sha if live is not None and live.is_open else ""
    return request.model_copy(update={"on_issue": True, "proposed_head": head})


async def list_gates(
    services: Services, repository: RepositoryRef, number: int, *, waiting: bool = False
) -> Sequence[Gate]:
    """Everything that is asked on a pull request or issue, in order, also by the run that proposed the pull request.

    :param waiting: only what waits.
    """
    here = await gates.list_for_pull_request(services.database, repository.id, number, waiting=waiting)
    owner = await outbox.find_proposing_run(services.database, repository.id, number)
    theirs: Sequence[Gate] = () if owner is None else await gates.list_for_run(services.database, owner.id)
    return sorted([*here, *(gate for gate in theirs if gate.is_waiting or not waiting)], key=lambda gate: gate.id)


async def list_conditions(services: Services, run: Run, *, proposed: bool) -> Sequence[str]:
    """Under which conditions people let a run go on, in their words. What they said to help is none.

    :param proposed: once its pull request was there; else before.
    """
    known = await gates.list_for_run(services.database, run.id)
    let = [gate for gate in known if gate.conditions and gate.name not in {"help_needed", "recovery"}]
    return [gate.conditions for gate in let if bool(gate.request.proposed_head) == proposed]


async def show_gate(services: Services, run: Run, gate: Gate) -> Gate:
    """Bring what GitHub shows of a gate up to date; may be repeated.

    :raises Superseded: if another run owns the pull request.
    """
    spent = (await reservations.sum_run(services.database, run.id)).amount
    gate = await gate_checks.show(services, run, gate, spent)
    if gate.state is GateState.expired:
        await _escalate(services, run, gate, spent)
    return gate


async def show_gates(services: Services, run: Run) -> Sequence[Gate]:
    """Bring all that a run asked up to date on GitHub; what it asked."""
    return [await show_gate(services, run, gate) for gate in await gates.list_for_run(services.database, run.id)]


async def show_outcome(services: Services, gate: Gate) -> None:
    """Show at once how a gate was decided: its run may have to wait for a place. Where that does not work it shows it.

    May be repeated.
    """
    run = await runs.get(services.database, gate.run_id)
    if run is None:
        return
    spent = (await reservations.sum_run(services.database, run.id)).amount
    try:
        await gate_checks.show_outcome(services, run, gate, spent)
    except (CodeHostError, Halted, Superseded) as error:
        log.info("gate.outcome_put_off", gate=gate.id, error=str(error))


async def show_decision(services: Services, gate: Gate) -> bool:
    """Show in the gate's comment how it was decided; whether people see it there. May be repeated.

    :raises CodeHostError: GitHub may take it later.
    """
    run = await runs.get(services.database, gate.run_id)
    if run is None or gate.is_waiting:
        return False
    spent = (await reservations.sum_run(services.database, run.id)).amount
    try:
        return await gate_checks.show_decision(services, run, gate, spent)
    except (Forbidden, Unprocessable, Superseded) as error:  # such as in a locked conversation
        log.info("gate.decision_not_shown", gate=gate.id, error=str(error))
        return False


class GatePart(StrEnum):
    """What one write closes of a gate."""

    check = "check"
    comment = "comment"
    size = "size"  # of the comment, which is folded


async def show_closed_gates(services: Services, run: Run) -> None:
    """Show how what a stopped run asked ended, whoever owns the pull request now; may be repeated.

    Most of it is void; what was answered right before was perhaps not shown yet.
    """
    for gate_id, part in await list_open_parts(services, run):
        await close_part(services, gate_id, part)


async def list_open_parts(services: Services, run: Run) -> Sequence[tuple[str, GatePart]]:
    """The writes that show it, each by itself: the ids of gates, and what of them."""
    known = await gates.list_for_pull_request(services.database, run.repository.id, run.number)
    found: list[tuple[str, GatePart]] = []
    for gate in known:
        if gate.run_id == run.id and not gate.is_waiting:
            found.append((gate.id, GatePart.check))
            taken_over = any(other.comment_id == gate.comment_id and other.id > gate.id for other in known)
            if gate.comment_id is not None and not taken_over:
                found += [(gate.id, GatePart.comment), (gate.id, GatePart.size)]
    return found


async def close_part(services: Services, gate_id: str, part: GatePart) -> None:
    """Bring one of these up to date; nobody waits for that."""
    gate = await gates.get(services.database, gate_id)
    if gate is None:
        return
    spent = (await reservations.sum_run(services.database, gate.run_id)).amount
    with use_importance(Importance.tidying):
        if part is GatePart.check:
            await gate_checks.refresh(services, gate, spent)
        elif part is GatePart.comment:
            await gate_checks.close_comment(services, gate, spent)
        elif gate.comment_id is not None:
            await gate_checks.fold(services, gate, gate.comment_id)


async def refresh_gate(services: Services, gate: Gate, note: str = "", looked: datetime | None = None) -> None:
    """Show in the gate's check where it stands now, because somebody pressed a button there."""
    spent = (await reservations.sum_run(services.database, gate.run_id)).amount
    await gate_checks.refresh(services, gate, spent, note, looked)


async def _escalate(services: Services, run: Run, gate: Gate, spent: int) -> None:
    """Put a label there and tell the configured people, each once. That GitHub does not take it is no reason to hold
    the run up. Where nobody is configured nobody was told, and the ledger does not say so.

    :raises RateLimited: GitHub takes it later.
    """
    try:
        await gate_checks.escalate(services, run, gate, spent)
    except RateLimited:
        raise
    except CodeHostError as error:
        log.warning("gate.not_escalated", gate=gate.id, error=str(error))
        return
    if gate.request.escalate:
        await gates.record_escalation(services.database, gate, gate.request.escalate, services.clock.now())
