"""Shows gates, with what their runs cost so far: each in a check, in a comment, and by a label if nobody answered."""

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from enum import StrEnum
from functools import partial

import structlog

from domain.errors import (
    CodeHostError,
    Forbidden,
    Halted,
    HostFailure,
    NotFound,
    Superseded,
    Unprocessable,
)
from domain.gates import CHECK_ID_PREFIX, Choice, Gate, GateState
from domain.github.checks import Button, CheckRun
from domain.review.review import Conclusion
from domain.runs.run import RepositoryRef, Run
from domain.text.redaction import redact_outgoing
from memory import gates, reservations
from memory.runs import outbox, runs
from messages import gates as gate_texts
from messages.review import CheckText
from pipeline.context import Services
from pipeline.publishing.checks import build_check, complete_check, ensure_check
from pipeline.publishing.comments import ensure_comment
from pipeline.publishing.publisher import NO_ID, write_once
from safety.github_limits import Importance, use_importance

log = structlog.get_logger(__name__)

GATE_BUTTONS = (
    Button(label="Approve", description="Let the run go on", identifier=Choice.approve),
    Button(label="Reject", description="End the run here", identifier=Choice.reject),
    Button(label="View", description="Show where it stands now", identifier=Choice.view),
)
_CONCLUSIONS = {
    GateState.waiting: Conclusion.action_required,
    GateState.approved: Conclusion.success,
    GateState.rejected: Conclusion.failure,
    GateState.expired: Conclusion.action_required,
    GateState.void: Conclusion.cancelled,
}
_GONE = 0  # the id that is kept of a comment that a person deleted: a decision is told in words then


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


async def show_gate(services: Services, run: Run, gate: Gate) -> Gate:
    """Bring what GitHub shows of a gate up to date: its comment, then its check, which is brief beside that.

    Who asks nobody but themselves is asked in the check alone. May be repeated.

    :returns: the gate with the ids of both.
    :raises Superseded: if another run owns the pull request.
    """
    spent = await reservations.load_cost(services.database, gate.run_id)
    if gate.comment_id is not None or not gate.request.lone_author:
        try:
            gate = gate.model_copy(update={"comment_id": await _show_comment(services, run, gate, spent)})
        except Forbidden as error:  # a locked conversation: only the check asks
            log.warning("gate.uncommented", gate=gate.id, error=str(error))
    if gate.check_head is not None:
        gate = gate.model_copy(update={"check_id": await _show_check(services, run, gate, spent)})
    await gates.save_location(services.database, gate.id, check_id=gate.check_id, comment_id=gate.comment_id)
    if gate.state is GateState.expired:
        await _escalate(services, run, gate, spent)
    return gate


async def show_gates(services: Services, run: Run) -> Sequence[Gate]:
    """Bring all that a run asked up to date on GitHub; what it asked."""
    return [await show_gate(services, run, gate) for gate in await gates.list_for_run(services.database, run.id)]


async def show_outcome(services: Services, gate: Gate) -> None:
    """Show in its check at once how a gate was decided: its run, which shows the rest, may have to wait for a place.

    May be repeated. Where it does not work, the run shows this, too.
    """
    run = await runs.get(services.database, gate.run_id)
    if run is None or gate.check_id is None:
        return
    try:
        await _show_check(services, run, gate, await reservations.load_cost(services.database, gate.run_id))
    except (CodeHostError, Halted, Superseded) as error:
        log.info("gate.outcome_put_off", gate=gate.id, error=str(error))


async def show_decision(services: Services, gate: Gate) -> bool:
    """Show in the gate's comment how it was decided; whether people see it there. May be repeated.

    :raises CodeHostError: GitHub may take it later.
    """
    run, known = await runs.get(services.database, gate.run_id), gate.comment_id
    if run is None or known is None or gate.is_waiting:
        return False

    async def edit() -> int:
        await _edit_comment(services, gate, known)
        return known

    try:
        return await write_once(services, run, f"gate {gate.id} {gate.state}", "comment", edit) != _GONE
    except NotFound:  # a person deleted it
        return False
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
    """Bring one of these up to date, although its run no longer owns the pull request; nobody waits for that."""
    gate = await gates.get(services.database, gate_id)
    if gate is None:
        return
    with use_importance(Importance.tidying):
        if part is GatePart.check:
            await refresh_gate(services, gate)
        elif gate.comment_id is not None and part is GatePart.comment:
            await _edit_comment(services, gate, gate.comment_id)
        elif gate.comment_id is not None:
            await _fold(services, gate, gate.comment_id)


async def refresh_gate(services: Services, gate: Gate, note: str = "", looked_at: datetime | None = None) -> None:
    """Show in the gate's check where it stands now, because somebody pressed a button there."""
    if gate.check_id is not None:
        spent = await reservations.load_cost(services.database, gate.run_id)
        text = gate_texts.render_check(gate, spent, note, looked_at)
        await services.host.update_check_run(gate.repository, gate.check_id, _build_check(gate, text))


async def _edit_comment(services: Services, gate: Gate, comment_id: int) -> None:
    text = _render(services, gate, await reservations.load_cost(services.database, gate.run_id))
    await services.host.edit_comment(gate.repository, comment_id, text)


async def _escalate(services: Services, run: Run, gate: Gate, spent: int) -> None:
    """Put a label there and tell the configured people, each once. That GitHub does not take it is no reason to hold
    the run up. Where nobody is configured nobody was told, and the ledger does not say so.

    :raises RateLimited: GitHub takes it later.
    """

    async def label() -> int:
        with use_importance(Importance.tidying):
            await services.host.add_label(run.repository, run.number, gate_texts.ESCALATED_LABEL)
        return NO_ID

    step, marker = f"escalate {gate.id}", services.markers.make("escalation", gate.id)
    try:
        await write_once(services, run, step, "label", label)
        if gate.request.escalate:
            await ensure_comment(services, run, step, marker, gate_texts.render_escalation(gate, spent, marker))
    except HostFailure as error:
        log.warning("gate.not_escalated", gate=gate.id, error=str(error))
        return
    if gate.request.escalate:
        await gates.record_escalation(services.database, gate, gate.request.escalate, services.clock.now())


async def _fold(services: Services, gate: Gate, comment_id: int) -> None:
    """Fold the comment of a void gate, and unfold one that asks again."""
    if gate.is_waiting or gate.state is GateState.void:
        # If GitHub refuses, people see the comment at full size.
        with suppress(Forbidden, NotFound, Unprocessable), use_importance(Importance.tidying):
            await services.host.fold_comment(gate.repository, comment_id, folded=not gate.is_waiting)


async def _show_check(services: Services, run: Run, gate: Gate, spent: int) -> int:
    check, creation = _build_check(gate, gate_texts.render_check(gate, spent)), f"gate {gate.id}"
    if not gate.is_waiting:
        return await complete_check(services, run, creation, f"{creation} {gate.state}", check)
    check_id, _ = await ensure_check(services, run, creation, check)
    return check_id


async def _show_comment(services: Services, run: Run, gate: Gate, spent: int) -> int:
    """The comment that shows the gate: a new one, or the one of a void question that it replaces."""
    text, step = _render(services, gate, spent), f"gate {gate.id}"
    find = partial(services.host.find_comment, gate.repository, gate.number, services.markers.make("gate", gate.id))
    create = partial(services.host.create_comment, gate.repository, gate.number, text)

    async def edit(comment_id: int) -> int:
        try:
            await services.host.edit_comment(gate.repository, comment_id, text)
        except NotFound:  # a person deleted it, and it stays deleted
            log.info("gate.comment_gone", gate=gate.id)
            return _GONE
        await _fold(services, gate, comment_id)
        return comment_id

    known = gate.comment_id
    if known is None:
        known = await write_once(services, run, step, "comment", create, find=find)
    else:
        await write_once(services, run, step, "comment", partial(edit, known))
    if not gate.is_waiting:
        await write_once(services, run, f"{step} {gate.state}", "comment", partial(edit, known))
    return known


def _build_check(gate: Gate, text: CheckText) -> CheckRun:
    name, head_sha = gate_texts.check_name(gate.name), gate.check_head or gate.head_sha
    check = build_check(name, head_sha, f"{CHECK_ID_PREFIX}{gate.id}", text, _CONCLUSIONS[gate.state])
    return check.model_copy(update={"buttons": _list_buttons(gate)})


def _list_buttons(gate: Gate) -> tuple[Button, ...]:
    """A button says nothing, so there is none to approve what needs words, nor to judge a finding."""
    if not gate.is_waiting:
        return ()
    missing = {Choice.approve} if gate.request.needs_words else set[Choice]()
    missing |= {Choice.reject} if gate.name == "false_positive" else set()
    return tuple(each for each in GATE_BUTTONS if each.identifier not in missing)


def _render(services: Services, gate: Gate, spent: int) -> str:
    return redact_outgoing(gate_texts.render_comment(gate, spent, services.markers.make("gate", gate.id)))
