"""Shows gates: each in a check, in a comment, and by a label when nobody answered."""

from contextlib import suppress
from datetime import datetime
from functools import partial

import structlog

from domain.errors import Forbidden, NotFound, Unprocessable
from domain.gates import CHECK_ID_PREFIX, Choice, Gate, GateState
from domain.github.checks import Button, CheckRun
from domain.review.review import Conclusion
from domain.runs.run import Run
from domain.text.redaction import redact_outgoing
from memory import gates
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


async def show(services: Services, run: Run, gate: Gate, spent: int) -> Gate:
    """Show a gate as it is now in its comment, then in its check, which is brief beside that; the gate with both ids.

    Who asks nobody but themselves is asked in the check alone.

    :param spent: what the run cost so far, in micro-USD.
    """
    if gate.comment_id is not None or not gate.request.lone_author:
        try:
            gate = gate.model_copy(update={"comment_id": await _show_comment(services, run, gate, spent)})
        except Forbidden as error:  # a locked conversation: only the check asks
            log.warning("gate.uncommented", gate=gate.id, error=str(error))
    if gate.check_head is not None:
        gate = gate.model_copy(update={"check_id": await _show_check(services, run, gate, spent)})
    await gates.save_location(services.database, gate.id, check_id=gate.check_id, comment_id=gate.comment_id)
    return gate


async def show_outcome(services: Services, run: Run, gate: Gate, spent: int) -> None:
    """Show in a gate's check how it was decided, because somebody waits for that. The run shows the rest.

    :raises Superseded: if another run owns the pull request.
    """
    if gate.check_id is not None:
        await _show_check(services, run, gate, spent)


async def show_decision(services: Services, run: Run, gate: Gate, spent: int) -> bool:
    """Show in a gate's comment how it was decided; false if it has none, or a person deleted it.

    :raises Superseded: if another run owns the pull request.
    """
    known = gate.comment_id
    if known is None:
        return False

    async def edit() -> int:
        await services.host.edit_comment(gate.repository, known, _render(services, gate, spent))
        return known

    try:
        return await write_once(services, run, f"gate {gate.id} {gate.state}", "comment", edit) != _GONE
    except NotFound:
        return False


async def close_comment(services: Services, gate: Gate, spent: int) -> None:
    """Show in a gate's comment that it is void, although its run no longer owns the pull request."""
    if gate.comment_id is not None:
        await services.host.edit_comment(gate.repository, gate.comment_id, _render(services, gate, spent))


async def refresh(
    services: Services, gate: Gate, spent: int, note: str = "", looked_at: datetime | None = None
) -> None:
    """Show in a gate's check how it is now."""
    if gate.check_id is not None:
        text = gate_texts.render_check(gate, spent, note, looked_at)
        await services.host.update_check_run(gate.repository, gate.check_id, _build_check(gate, text))


async def escalate(services: Services, run: Run, gate: Gate, spent: int) -> None:
    """Add a label because nobody answered, and mention the configured people; each once."""

    async def label() -> int:
        with use_importance(Importance.tidying):
            await services.host.add_label(run.repository, run.number, gate_texts.ESCALATED_LABEL)
        return NO_ID

    step, marker = f"escalate {gate.id}", services.markers.make("escalation", gate.id)
    await write_once(services, run, step, "label", label)
    if gate.request.escalate:
        await ensure_comment(services, run, step, marker, gate_texts.render_escalation(gate, spent, marker))


async def fold(services: Services, gate: Gate, comment_id: int) -> None:
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

    async def find() -> int | None:
        return await services.host.find_comment(gate.repository, gate.number, services.markers.make("gate", gate.id))

    async def create() -> int:
        return await services.host.create_comment(gate.repository, gate.number, text)

    async def edit(comment_id: int) -> int:
        try:
            await services.host.edit_comment(gate.repository, comment_id, text)
        except NotFound:  # a person deleted it, and it stays deleted
            log.info("gate.comment_gone", gate=gate.id)
            return _GONE
        await fold(services, gate, comment_id)
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
