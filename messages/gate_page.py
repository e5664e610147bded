"""Says on the dashboard who may decide a gate, and how one was decided."""

from domain.gates import Gate
from messages.audit import format_duration
from messages.gates import render_title


def describe_deciders(gate: Gate) -> str:
    """Who may answer, as a sentence."""
    asked = gate.request
    left_out = [
        name for name, is_out in (("the author", asked.not_author), ("the requester", asked.not_requester)) if is_out
    ]
    but = f", but not {' or '.join(left_out)}" if left_out else ""
    passed = f" {gate.delegate} was asked to decide." if gate.delegate else ""
    told = f" If nobody answers, {', '.join(asked.escalate)} will be told." if asked.escalate else ""
    return f"Who has the role {asked.role} or above{but}.{passed}{told}"


def describe_answer(gate: Gate) -> str:
    """What became of a gate, by whom, and after how long."""
    decision = gate.decision
    if decision is None:
        return render_title(gate)
    took = format_duration(max(0.0, (decision.at - gate.asked_at).total_seconds()))
    how = f" ({decision.via})" if decision.via else ""
    waived = " Nobody else has the role, so the rule on authors was waived." if decision.waived else ""
    return f"{render_title(gate)}, after {took}{how}.{waived}"
