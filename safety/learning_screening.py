"""Decides when Forge reflects on a run, and which learnings of a model it proposes to people.

A learning must name something that occurred, say what to do or what is true, be new, copy nothing and name its event.
Whether it is right, and asks for no less care, no rule over words can tell, in any language: memories are trusted text
in later prompts, so a person says so before anything is told of it.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from domain.events import Event, EventType
from domain.gates import BUDGET_GATES
from domain.memories import Memory, MemoryKind
from domain.runs.run import Phase, ReasonCode, Run, RunState
from domain.text.redaction import redact_outgoing
from domain.text.similarity import Statement, extract_names, measure_copying
from domain.value import Value
from domain.verdicts import Reason

OURS = frozenset({"OWNER", "MEMBER", "COLLABORATOR"})
"""GitHub's ``author_association`` of members of a repository."""


COPIED = 0.5
"""The share of copied word runs from which a text is a copy."""
SHORTEST, LONGEST_SAID = 25, 400  # characters of what a learning says
LONGEST_CONTEXT = 200
MOST_TAGS, LONGEST_TAG = 8, 60
LEAST_WORDS = 5

_ADVICE = re.compile(
    r"\b(always|never|must|should|shall|use[sd]?|run|runs|avoid|prefer|check|add|keep|keeps|before|after|when|whenever|if|"
    r"unless|until|because|need|needs|require|requires|required|expect|expects|read|reads|write|writes|set|"
    r"instead|only|not|cannot|can't|don't|doesn't|do|does|without|via|through|belongs?|lives?|defined|breaks?|fails?|"
    r"depends?|returns?|raises?|takes?|wants?|is|are|has|have)\b",
    re.IGNORECASE,
)
_IDLE = re.compile(
    r"\b(went well|well done|good (job|work)|great (job|work)|nice(ly)?|excellent|successful(ly)?|success|succeeded|"
    r"smooth(ly)?|as expected|no (issues|problems|errors|findings|learnings?)|nothing (to learn|notable|special)|"
    r"(was|were|has been|have been|got) (approved|completed|finished|merged|reviewed|passed|done))\b",
    re.IGNORECASE,
)
_TELLS = re.compile(
    r"^(the|this|a) (run|review|pull request|change|phase|task|workflow|model|agent|implementer|reviewer)\b",
    re.IGNORECASE,
)
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://|\bwww\.|(?<!\w)@[\w-]+|<!--|</?[a-z]", re.IGNORECASE)

CROWDED = Reason(
    code="learning.crowded",
    text="As many proposals as Forge keeps wait for a person already.",
)
MOST_PROPOSED = 50
"""Proposals of a repository that wait at once."""


class Learning(Value):
    """A learning that a model proposes.

    :param event: id of its event, according to the model.
    """

    kind: MemoryKind
    content: str
    context: str = ""
    tags: tuple[str, ...] = ()
    event: str


@dataclass(frozen=True)
class ShownToModel:
    """The text that the model saw.

    :param prompt: all of it, including instructions.
    :param events: its text about each event, by id.
    """

    prompt: str
    events: Mapping[str, str]


class LearningDecision(Value):
    """The decision about a learning: proposed, merged into a known one, or refused.

    :param into: id of the memory with the same content.
    """

    learning: Learning
    into: str | None = None
    refused: Reason | None = None

    @property
    def is_new(self) -> bool:
        return self.into is None and self.refused is None


def screen_learnings(
    learnings: Sequence[Learning], shown: ShownToModel, known: Sequence[Memory], *, most: int = 1
) -> Sequence[LearningDecision]:
    """Decides about each learning of a reflection, the best first; keeps at most ``most``.

    :param known: the memories of the repository that live or are proposed.
    """
    sayings = [(memory, Statement.of(memory.content)) for memory in known] if learnings else []
    decided: list[LearningDecision] = []
    new: list[Statement] = []
    for learning in sorted(learnings, key=lambda each: _rank(each, shown), reverse=True):
        found = _screen(learning, shown, sayings)
        if found.is_new and any(Statement.of(learning.content).agrees_with(each) for each in new):
            found = _refuse(learning, "repeated", "It repeats another learning of this run.")
        elif found.is_new and len(new) >= most:
            found = _refuse(learning, "too_many", f"Forge keeps at most {most} of a run, and kept a better one.")
        elif found.is_new:
            new.append(Statement.of(learning.content))
        decided.append(found)
    return decided


def _screen(learning: Learning, shown: ShownToModel, known: Sequence[tuple[Memory, Statement]]) -> LearningDecision:
    """Decides about one learning."""
    reason = _check_source(learning, shown) or _check_form(learning) or _check_usefulness(learning, shown)
    if reason is not None:
        return LearningDecision(learning=learning, refused=reason)
    statement = Statement.of(learning.content)
    same = [(statement.similarity(other), memory.id) for memory, other in known if statement.agrees_with(other)]
    return LearningDecision(learning=learning, into=max(same)[1] if same else None)


def screen_lesson(content: str, context: str, tags: Sequence[str]) -> Reason | None:
    """Why a lesson that Forge words itself, with names that others chose, is not kept; None if it is."""
    return _check_form(Learning(kind=MemoryKind.semantic, content=content, context=context, tags=tuple(tags), event=""))


def _check_source(learning: Learning, shown: ShownToModel) -> Reason | None:
    if learning.event in shown.events:
        return None
    return Reason(code="learning.unsourced", text="It names no event of this run that it came from.")


def _check_form(learning: Learning) -> Reason | None:
    """Checks whether the text can be kept and shown as it is."""
    everything = "\n".join((learning.content, learning.context, *learning.tags))
    length, words = len(learning.content), len(learning.content.split())
    if length < SHORTEST or words < LEAST_WORDS:
        return Reason(code="learning.short", text="It is too short to be understood later.", value=length)
    if length > LONGEST_SAID or len(learning.context) > LONGEST_CONTEXT:
        return Reason(code="learning.long", text="It is too long for one thing to know.", value=length)
    if len(learning.tags) > MOST_TAGS or any(len(tag) > LONGEST_TAG for tag in learning.tags):
        return Reason(code="learning.tags", text="Its tags are too many or too long.", value=len(learning.tags))
    if redact_outgoing(everything) != everything:
        return Reason(code="learning.secret", text="It seems to contain a credential.")
    if _ADDRESS.search(everything):
        return Reason(code="learning.address", text="It contains an address, a mention or markup.")
    return None


def _check_usefulness(learning: Learning, shown: ShownToModel) -> Reason | None:
    content = learning.content
    events = "\n".join(shown.events.values()).casefold()
    if not _find_occurring(content, events):
        return Reason(code="learning.unspecific", text="It names no path, rule, command or tool of this run.")
    if _IDLE.search(content) or _TELLS.search(content) or not _ADVICE.search(content):
        return Reason(code="learning.idle", text="It says what happened, not what to do or what is true.")
    share = measure_copying(content, shown.prompt)
    if share >= COPIED:
        text = "It repeats text that the model was shown."
        return Reason(code="learning.copied", text=text, value=share, threshold=COPIED)
    return None


def _find_occurring(content: str, told: str) -> Sequence[str]:
    """The names in it that occurred; a path may occur as its module."""
    return [name for name in extract_names(content) if name in told or ("/" in name and _as_module(name) in told)]


def _as_module(path: str) -> str:
    return path.rpartition(".")[0].replace("/", ".") or path


def _rank(learning: Learning, shown: ShownToModel) -> tuple[bool, int, int]:
    """The rank of a learning: general before one-off, then more names, then shorter."""
    events = "\n".join(shown.events.values()).casefold()
    return (
        learning.kind is not MemoryKind.episodic,
        min(3, len(_find_occurring(learning.content, events))),
        -len(learning.content),
    )


def _refuse(learning: Learning, code: str, text: str) -> LearningDecision:
    return LearningDecision(learning=learning, refused=Reason(code=f"learning.{code}", text=text))


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


BOUNCES = 2
"""The number of times a phase sent the work back from which fixes do not stick."""
ERRORS = 0.1
"""The share of failed tool calls in a phase above which something is wrong."""
LEAST_CALLS = 10
"""The fewest tool calls for judging errors."""
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
