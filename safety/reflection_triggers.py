"""Decides when Forge reflects on a run."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from domain.events import Event, EventType
from domain.gates import BUDGET_GATES
from domain.runs.run import Phase, ReasonCode, Run, RunState
from domain.verdicts import Reason

BOUNCES = 2
"""The number of times a phase sent the work back from which fixes do not stick."""
ERRORS = 0.1
"""The share of failed tool calls in a phase above which something is wrong."""
LEAST_CALLS = 10
"""The fewest tool calls for judging errors."""
OURS = frozenset({"OWNER", "MEMBER", "COLLABORATOR"})
"""GitHub's ``author_association`` of members of a repository."""


class Moment(StrEnum):
    """The occasions for a reflection on a run, each at most once."""

    ended = "ended"
    bounced = "bounced"  # a phase sent the work back twice
    cost = "cost"  # half of a budget is spent
    errors = "errors"  # more than a tenth of a phase's tool calls failed
    overridden = "overridden"  # a person decided otherwise


@dataclass(frozen=True)
class ReflectionFacts:
    """The facts at the start of a reflection.

    :param events: of the run, in order.
    :param is_trusted: the change or issue comes from a member of the repository.
    """

    run: Run
    events: Sequence[Event]
    is_enabled: bool
    is_trusted: bool


def find_moments(events: Sequence[Event]) -> frozenset[Moment]:
    """The occasions that a run has reached, besides its end.

    :param events: of the run, in order.
    """
    bounced = Counter(event.phase for event in events if event.type is EventType.phase_bounced)
    found = {
        Moment.bounced: any(count >= BOUNCES for count in bounced.values()),
        Moment.cost: any(event.type is EventType.budget_half for event in events),
        Moment.errors: any(_errs(events, phase) for phase in Phase),
        Moment.overridden: any(map(is_override, events)),
    }
    return frozenset(moment for moment, reached in found.items() if reached)


def is_override(event: Event) -> bool:
    """Whether a person overrode Forge."""
    match event.type:
        case EventType.feedback_dismissed | EventType.feedback_missed | EventType.ladder_stopped:
            return True
        case EventType.gate_rejected:
            return event.payload.get("name") not in BUDGET_GATES
        case EventType.feedback_decided:
            return not event.payload.get("approved") and not event.payload.get("own")
        case _:
            return False


def find_obstacle(facts: ReflectionFacts) -> Reason | None:
    """Returns the reason not to reflect; None if Forge reflects."""
    if not facts.is_enabled:
        return Reason(code="reflection.off", text="Forge does not learn here (`memory.enabled`, `memory.max`).")
    if facts.run.reason in _SAYS_NOTHING:
        return Reason(code="reflection.early", text=f"The run ended too early to learn from: {facts.run.reason}.")
    since = _since_last(facts.events)
    if not (any(_teaches(event, facts.run) for event in since) or any(_errs(since, phase) for phase in Phase)):
        return Reason(code="reflection.nothing", text="Nothing happened to learn from.")
    if not facts.is_trusted:
        return Reason(code="reflection.untrusted", text="It comes from someone who does not belong to the repository.")
    return None


def most_kept(events: Sequence[Event]) -> int:
    """How many learnings to keep: two if fixes did not stick or a person overrode Forge, else one."""
    return 2 if find_moments(events) & {Moment.bounced, Moment.overridden} else 1


_SAYS_NOTHING = frozenset(
    {
        ReasonCode.superseded,
        ReasonCode.closed,
        ReasonCode.aborted,
        ReasonCode.paused,
        ReasonCode.excluded,
        ReasonCode.commit_gone,
        ReasonCode.access_lost,
        ReasonCode.halted,
    }
)
_ONLY_THOUGHT = frozenset({ReasonCode.planned, ReasonCode.questions, ReasonCode.unchanged})
"""How a run ends that changed nothing: its one event teaches nothing."""
_TEACHING = frozenset(
    {
        EventType.phase_bounced,
        EventType.guard_tripped,
        EventType.breaker_tripped,
        EventType.budget_half,
    }
)
_FAILURES = frozenset(
    {ReasonCode.stuck, ReasonCode.guard, ReasonCode.breaker, ReasonCode.budget, ReasonCode.gate_rejected}
)


def _teaches(event: Event, run: Run) -> bool:
    """Whether an event is worth learning from; routine events are not."""
    match event.type:
        case EventType.gate_approved:
            return bool(event.payload.get("words")) and event.payload.get("name") not in BUDGET_GATES
        case EventType.run_failed:
            return event.payload.get("reason") in _FAILURES
        case EventType.run_completed:
            worked = run.state is RunState.completed and run.reason not in _ONLY_THOUGHT
            return run.is_of_issue and worked and bool(event.payload.get("calls"))
        case _:
            return event.type in _TEACHING or is_override(event)


def _since_last(events: Sequence[Event]) -> Sequence[Event]:
    last = max((at for at, event in enumerate(events) if event.type is EventType.reflected), default=-1)
    return events[last + 1 :]


def _errs(events: Sequence[Event], phase: Phase) -> bool:
    used = [event for event in events if event.type is EventType.tool_executed and event.phase is phase]
    failed = sum(bool(event.payload.get("problem")) for event in used)
    return len(used) >= LEAST_CALLS and failed > ERRORS * len(used)
