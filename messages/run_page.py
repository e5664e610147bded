"""What the dashboard's page of a run says: why it waits, what happened, what became of findings; all plain text."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from domain.events import Event, EventType
from domain.gates import Gate
from domain.review.findings import Finding
from domain.review.review import Decision, SuppressedFinding, SuppressionReason
from domain.runs.run import ReasonCode, Run, RunState, Trigger
from domain.text.escaping import cut_text, format_moment
from domain.value import shorten_id
from messages.audit import describe_event
from messages.changes import AgentTurn, describe_use
from messages.commands import describe_state
from messages.gates import name_deciders

_WORDS = 400  # characters of what a model said
_USES = 8  # of tools in one turn that are named

_TRIGGERS = {
    Trigger.pull_request: "Review",
    Trigger.rerequested: "Review, asked for again",
    Trigger.requested_action: "Review, after a button",
    Trigger.command: "Review, by command",
    Trigger.plan: "Plan",
    Trigger.issue: "Implementation",
    Trigger.question: "Question",
    Trigger.instruction: "Instruction",
    Trigger.deployment: "Deployment",
}
_DECISIONS = {
    Decision.approve: "Approved",
    Decision.request_changes: "Changes requested",
    Decision.require_human: "A person has to look",
    Decision.unread: "Nothing found, but parts were not read",
}
_MOVES = {
    "phase.entered": "enters the phase",
    "phase.completed": "leaves the phase",
    "loop.phase_bounce": "is sent back",
}


def name_trigger(trigger: Trigger) -> str:
    """What a run does, from what began it."""
    return _TRIGGERS[trigger]


def name_decision(decision: Decision) -> str:
    """A review's decision in words."""
    return _DECISIONS[decision]


@dataclass(frozen=True)
class RunWait:
    """Why a run is not over.

    :param text: one sentence or two.
    :param gate: the gate at which people decide; None: it waits for something else.
    :param pull_request: the number of the pull request it waits for; None: for something else.
    """

    text: str
    gate: Gate | None = None
    pull_request: int | None = None


def explain_wait(run: Run, waiting: Sequence[Gate], until: datetime | None, proposed: int | None) -> Sequence[RunWait]:
    """Why a run is not over, and what has to happen; nothing for a run that ended.

    :param waiting: its gates that wait.
    :param until: when it goes on by itself.
    :param proposed: the number of the pull request that it made.
    """
    if run.state.is_final:
        return ()
    if run.state is RunState.running:
        return ()
    if waiting:
        return [RunWait(_explain_gate(gate), gate) for gate in waiting]
    if run.state is RunState.pending:
        return (
            RunWait("It has not begun: it waits for a free worker, or for its turn on this pull request or issue."),
        )
    why = describe_state(run)
    parts = [f"This run is {why}."]
    if run.detail:
        parts.append(f"{run.detail.rstrip('.')}.")
    if until is not None:
        parts.append(f"It goes on by itself at {format_moment(until)}.")
    its_own = proposed if run.reason is ReasonCode.in_review else None
    return (RunWait(" ".join(parts), pull_request=its_own),)


def _explain_gate(gate: Gate) -> str:
    asked = gate.request
    passed = f" {gate.delegate} was asked to decide." if gate.delegate else ""
    return (
        f"This run waits for a person at {gate.name}: {asked.prompt.rstrip('.')}. Who decides: anyone with the "
        f"role {name_deciders(asked)}. Without an answer until {format_moment(gate.until)} it expires, which lets "
        f"nothing pass.{passed}"
    )


@dataclass(frozen=True)
class TimelineRow:
    """One line of what happened.

    :param family: the first part of its type, for its look.
    :param said: the model's words.
    :param details: further lines, such as the tools that were used.
    :param cost: micro-USD.
    """

    at: datetime
    phase: str
    family: str
    what: str
    details: Sequence[str] = ()
    said: str = ""
    seconds: float | None = None
    tokens: int = 0
    cost: int = 0


def describe_row(event: Event, turn: AgentTurn | None = None) -> TimelineRow:
    """An event as a line of the timeline.

    :param turn: what the model said and used, of an event that is a turn.
    """
    what, details = _describe(event, turn)
    return TimelineRow(
        at=event.time,
        phase=event.phase.value if event.phase is not None else "",
        family=event.type.value.partition(".")[0],
        what=what,
        details=details,
        said=_cut(turn.said) if turn is not None else "",
        seconds=event.duration,
        tokens=event.tokens if event.type is not EventType.agent_iterated else 0,  # the call of the model tells them
        cost=round(event.cost * 1_000_000),
    )


def _describe(event: Event, turn: AgentTurn | None) -> tuple[str, Sequence[str]]:
    facts = event.payload
    match event.type:
        case EventType.phase_entered | EventType.phase_completed | EventType.phase_bounced:
            turns = int(facts.get("turn") or 1)
            again = f", for the {turns}th time" if turns > 3 else ("", ", again", ", a third time")[turns - 1]
            return f"{_MOVES[event.type.value]}{again}", ()
        case EventType.agent_iterated:
            return f"turn: {facts.get('step', '')}", _list_uses(turn)
        case EventType.tool_executed:
            problem = facts.get("problem")
            return f"tool {event.source}", [str(problem)] if problem else ()
        case EventType.test_failed:
            return f"test failed: {facts.get('test', '')}", ()
        case EventType.finding_detected:
            return f"finding {facts.get('finding', '')}: {facts.get('rule', '')} in {facts.get('path', '')}", ()
        case EventType.budget_settled:
            outcome = str(facts.get("outcome", ""))
            return f"call of {facts.get('model', 'a model')}" + (f": {outcome}" if outcome != "answered" else ""), ()
        case EventType.memory_recalled:
            named = [shorten_id("M", str(each)) for each in facts.get("memories") or ()]
            return f"memories for {facts.get('task', 'a task')}", [", ".join(named)]
        case EventType.checkpoint_created if facts.get("cause") is None:
            return _describe_kept(facts), ()
        case _:
            told = describe_event(event)
            who = f"by {told.who}" if told.who else ""
            details = [part for part in (who, told.why, told.words) if part]
            return told.what, details


def _describe_kept(facts: Mapping[str, Any]) -> str:
    """What a phase found; of a review, the verdict of then."""
    if facts.get("decision") not in set(Decision):
        return "what the phase found is kept"
    found = int(facts.get("findings") or 0)
    verdict = f"{name_decision(Decision(facts['decision'])).lower()}, {found} finding{'' if found == 1 else 's'}"
    return f"the verdict is now: {verdict}" if facts.get("is_changed") else f"verdict: {verdict}"


def _list_uses(turn: AgentTurn | None) -> Sequence[str]:
    if turn is None:
        return ()
    more = len(turn.used) - _USES
    named = [describe_use(*each) for each in turn.used[:_USES]]
    refused = [f"refused: {_cut(each)}" for each in turn.wrong[:_USES]]
    return [*named, *([f"and {more} more"] if more > 0 else []), *refused]


@dataclass(frozen=True)
class ShownFinding:
    """A finding in a run, and what became of it.

    :param outcome: ``raised`` or ``muted``.
    :param why: who dismissed it with which words, or what else mutes it.
    :param memories: the short ids of the memories that mute it, or led to it.
    """

    finding: Finding
    outcome: str
    why: str = ""
    memories: Sequence[str] = ()


def describe_held(held: SuppressedFinding) -> str:
    """Why a finding is muted that nobody dismissed."""
    if held.why is SuppressionReason.reworded:
        return "the same finding was dismissed in other words"
    return f"findings of this rule were dismissed too often here; undoing {held.release} of them lets it count"


def _cut(text: str) -> str:
    return cut_text(" ".join(text.split()), _WORDS)
