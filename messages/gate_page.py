"""Says on the dashboard who may decide a gate, and how one was decided."""

from domain.gates import Gate
from messages.audit import format_duration
from messages.gates import name_deciders, render_title


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
