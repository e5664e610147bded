"""Every answer to somebody who decides, or tries to decide, at a gate, and what the dashboard says of its decision."""

from collections.abc import Sequence

from domain.gates import Gate, GateState
from domain.money import BudgetExtension
from domain.text.escaping import escape, format_moment, inline_code
from messages.audit import format_duration
from messages.commands import AUTHORS, explain_doubt
from messages.gates import (
    ENDS,
    describe_approval,
    explain_refusal,
    explain_retry,
    explain_void,
    label_gate,
    name_deciders,
    render_title,
)
from safety.authorization import CommandRefusal, RefusalCode


def confirm_decision(gate: Gate) -> str:
    """The receipt of a decision where its question cannot show it."""
    if gate.state is GateState.rejected:
        return f"{label_gate(gate)} is rejected. {explain_refusal(gate) or ENDS}"
    is_waived = gate.decision is not None and gate.decision.waived
    waived = " Nobody else has the role, so the rule about authors was waived." if is_waived else ""
    return f"{label_gate(gate)} is approved. {describe_approval(gate)}{waived}"


def report_too_late(gate: Gate) -> str:
    """For a gate that cannot be decided any more."""
    if gate.is_waiting:  # a push took its object away at this moment
        return (
            f"{label_gate(gate)} is about a head that is no longer the newest. Forge "
            "asks again about the new one if it has to."
        )
    when = "" if gate.decision is None else f" on {format_moment(gate.decision.at)}"
    if gate.state is GateState.expired:
        return " ".join([f"{label_gate(gate)} is over{when}. {render_title(gate)}.", explain_retry(gate)]).rstrip()
    return f"{label_gate(gate)} is already decided: {escape(render_title(gate), 200)}{when}. Nothing was changed."


def report_other_head(gate: Gate, seen: str) -> str:
    return (
        f"{label_gate(gate)} asks about {inline_code(gate.head_sha[:7])}, not about {inline_code(seen[:7])}. "
        f"Look at that head; {_approve_command(gate)} approves it."
    )


def report_new_question(gate: Gate) -> str:
    return (
        f"{label_gate(gate)} was asked again, about {inline_code(gate.head_sha[:7])}, after you wrote this. "
        f"Look at it, then answer again; {_approve_command(gate)} approves it."
    )


def _approve_command(gate: Gate) -> str:
    words = " with: what to do" if gate.request.needs_words else ""
    return f"`/forge approve {gate.name} {gate.head_sha[:7]}{words}`"


def ask_for_words(gate: Gate) -> str:
    """For an approval without words where the same attempt would only fail again, or so much is to go."""
    why, words = "without a word of yours the same attempt would fail again", "what to do"
    if gate.name == "destructive":
        why, words = "so much is to go that an approval needs your reason", "why"
    return (
        f"{label_gate(gate)} was not decided: {why}. Write `/forge approve {gate.name} with: {words}`, or "
        f"`/forge reject {gate.name} reason`."
    )


def ask_which_gate(waiting: Sequence[Gate], last: Gate | None, later: str = "") -> str:
    """For an answer without a name where not exactly one gate waits.

    :param later: what is asked once no finding blocks, a clause; may be empty.
    """
    if waiting:
        return f"{len(waiting)} gates are waiting here: {_list(waiting)}. Name the one you mean."
    if later:
        return f"No gate is waiting here yet. {escape(later)}."
    if last is not None and last.state is GateState.void:
        return f"No gate is waiting here. The last one, {inline_code(last.name)}, is void: {explain_void(last)}."
    ended = "" if last is None else f" The last one, {inline_code(last.name)}: {escape(render_title(last), 200)}."
    return f"No gate is waiting here.{ended}"


def report_unknown_gate(name: str, waiting: Sequence[Gate]) -> str:
    there = f"Waiting: {_list(waiting)}." if waiting else "None is waiting."
    return f"There is no gate {inline_code(name)} here. {there}"


def refuse(gate: Gate, refusal: CommandRefusal, login: str) -> str:
    """For somebody who may not decide."""
    who, needed = inline_code(login), refusal.needed
    match refusal.code:
        case RefusalCode.app:
            return f"Refused: {label_gate(gate)} is for people to decide, not for Apps."
        case RefusalCode.author:
            return (
                f"Refused: {label_gate(gate)} cannot be decided by the author of the "
                f"change. Someone else with the role {needed} can. {AUTHORS}"
            )
        case RefusalCode.second:
            return (
                f"Noted: {label_gate(gate)} takes two people, because {explain_doubt(refusal)}. It is approved once "
                f"somebody else with the role {needed} approves it, too."
            )
        case RefusalCode.requester:
            return (
                f"Refused: {label_gate(gate)} cannot be decided by the requester. Someone else with the role "
                f"{needed} can."
            )
        case _:
            return (
                f"Refused: {label_gate(gate)} needs the role {needed}; {who} has "
                f"{escape(refusal.held)}. It is still waiting."
            )


def announce_delegation(gate: Gate) -> str:
    """Mentions the account, once: somebody asked it to decide."""
    asked = f"@{gate.delegate}, you are asked to decide {label_gate(gate)} until {format_moment(gate.until)}."
    return f"{asked} It needs the role {gate.request.role}."


def confirm_extension(grants: BudgetExtension, run_id: str) -> str:
    """For a slice that was granted where no gate waited for it."""
    return f"Run {inline_code(run_id)} may use {grants.label} more."


NOTHING_TO_CONTINUE = "Nothing is running here, so there is no run to grant more to."
NOTHING_TO_ACCEPT = "No guard or budget has stopped anything here, so there is nothing to accept."


def report_button(login: str, answer: str) -> str:
    """What became of a button, above the gate's check."""
    return f"**{inline_code(login)} pressed a button:** {answer}"


def _list(gates: Sequence[Gate]) -> str:
    return ", ".join(f"{inline_code(gate.name)} ({gate.short_id})" for gate in gates)


def describe_deciders(gate: Gate) -> str:
    """Who may answer, as a sentence."""
    escalate = gate.request.escalate
    passed = f" {gate.delegate} was asked to decide." if gate.delegate else ""
    told = f" If nobody answers, {', '.join(escalate)} will be told." if escalate else ""
    return f"Anyone with the role {name_deciders(gate.request)}.{passed}{told}"


def describe_answer(gate: Gate) -> str:
    """What became of a gate, by whom, and after how long."""
    decision = gate.decision
    if decision is None:
        return render_title(gate)
    took = format_duration(max(0.0, (decision.at - gate.asked_at).total_seconds()))
    how = f" ({decision.via})" if decision.via else ""
    waived = " Nobody else has the role, so the rule on authors was waived." if decision.waived else ""
    return f"{render_title(gate)}, after {took}{how}.{waived}"
