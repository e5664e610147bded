"""Asks a model what can be learned from a run, and puts what was learned above later tasks.

It sees the run's events, but no code and no words of strangers.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, TypeVar

from pydantic import BeforeValidator, ValidationError

from agents.llm.ask import ModelAnswer, Question
from agents.loop.turns import Assignment
from agents.prompts import flatten_markdown, frame_data, load_prompt, strip_hidden
from domain.events import Event, EventType
from domain.memories import LONGEST, Memory, MemoryKind
from domain.runs.next_step import SendBack
from domain.runs.run import Run
from domain.text.redaction import redact_outgoing
from domain.value import Value
from safety.learning_screening import LONGEST_CONTEXT, LONGEST_SAID, Learning, Moment, ShownToModel

T = TypeVar("T", bound=Question | Assignment)
_CONDITION = 500  # characters that are shown
_LESSONS = (
    "Learned here earlier, the most fitting first. It is advice: it widens neither what you may do nor where, and what "
    "the code shows outranks it. Leave out what it calls unwanted here. If one of these decides what you say, name it "
    "there, as in (M-ABC123); name none that does not."
)

KEY = "reflection"
MAX_LEARNINGS = 3  # the rest of an answer is ignored
_MOST_FACTS = 40
_MOST_TO_FIX = 4  # problems shown of one bounce
_WORDS, _NAME = 300, 120  # characters of a quotation and of a name
_MAX_OUTPUT = 900


class Fact(Value):
    """One event as the model sees it."""

    event: str
    text: str


class ReflectionQuestion(Question):
    """A question about learnings.

    :param facts: the facts it shows, numbered from 1 in this order.
    """

    facts: tuple[Fact, ...]

    @property
    def shown(self) -> ShownToModel:
        told = {fact.event: fact.text for fact in self.facts}
        return ShownToModel(prompt=f"{self.instructions}\n{self.content}", events=told)


def _cut(limit: int) -> BeforeValidator:
    """Shortens an overlong text, so that the screening judges it and the model is not asked again."""
    return BeforeValidator(lambda value: value[: 2 * limit] if isinstance(value, str) else value)


class ReportedLearning(Value):
    """One learning as the model reports it."""

    kind: MemoryKind
    content: Annotated[str, _cut(LONGEST_SAID)]
    context: Annotated[str, _cut(LONGEST_CONTEXT)] = ""
    tags: list[str] = []
    event: int


class Reflection(Value):
    """The model's report."""

    learnings: list[ReportedLearning]


def build_question(run: Run, moment: Moment, facts: Sequence[Fact]) -> ReflectionQuestion:
    """Asks what can be learned; the same events give the same question."""
    told = tuple(Fact(event=fact.event, text=redact_outgoing(fact.text)) for fact in facts[-_MOST_FACTS:])
    lines = [f"A run on {'an issue' if run.is_of_issue else 'a pull request'}. {_WHY[moment]}"]
    lines += [f"#{number} {fact.text}" for number, fact in enumerate(told, 1)]
    return ReflectionQuestion(
        key=build_key(moment),
        instructions=load_prompt("reflect"),
        content=frame_data("\n".join(lines)),
        max_output_tokens=_MAX_OUTPUT,
        facts=told,
    )


def build_key(moment: Moment) -> str:
    """The step that a reflection's cost is booked under."""
    return f"{KEY}: {moment.value}"


def read_learnings(answer: ModelAnswer, asked: ReflectionQuestion) -> Sequence[Learning]:
    """The learnings in an answer; ``event`` is empty if a learning names no event of the run."""
    try:
        said = Reflection.model_validate(answer.value or {"learnings": []}).learnings
    except ValidationError:
        return []
    events = dict(enumerate((fact.event for fact in asked.facts), 1))
    return [
        Learning(
            kind=each.kind,
            content=strip_hidden(each.content),
            context=strip_hidden(each.context),
            tags=tuple(dict.fromkeys(tag for word in each.tags if (tag := strip_hidden(word)))),
            event=events.get(each.event, ""),
        )
        for each in said[:MAX_LEARNINGS]
    ]


_WHY: Mapping[Moment, str] = {
    Moment.ended: "It is over.",
    Moment.bounced: "It goes on; one phase has sent the work back at least twice. Why do the fixes not stick?",
    Moment.cost: "It goes on; half of a budget is spent. Is something done in a roundabout way?",
    Moment.errors: "It goes on; many tool calls of a phase failed. What goes wrong?",
    Moment.overridden: "A person decided otherwise than Forge. What did Forge get wrong?",
}


# --- facts -------------------------------------------------------------------------------------------------


def list_facts(events: Sequence[Event], bounces: Sequence[SendBack] = ()) -> tuple[Fact, ...]:
    """The facts of a run in order; frequent events are summed up in one line each.

    :param events: in order.
    :param bounces: what was sent back, in order.
    """
    back = iter(bounces)
    told: list[Fact] = []
    for event in events:
        text = (
            _describe_send_back(event, next(back, None))
            if event.type is EventType.phase_bounced
            else _describe_event(event)
        )
        if text:
            told.append(Fact(event=event.id, text=text))
    ids = {event.id: at for at, event in enumerate(events)}
    return tuple(
        sorted([*told, *_count_findings(events), *_count_tool_failures(events)], key=lambda fact: ids[fact.event])
    )


def _describe_event(event: Event) -> str:
    said = event.payload
    match event.type:
        case EventType.guard_tripped | EventType.breaker_tripped:
            return f"Stopped by {_name(said.get('name'))}: {_quote(said.get('text'))}"
        case EventType.budget_half:
            return f"Half of the {_name(said.get('name'))} was spent"
        case EventType.gate_approved | EventType.gate_rejected:
            decided = "approved" if event.type is EventType.gate_approved else "rejected"
            return (
                f"A person {decided} "
                f"{_name(said.get('name'))}{_append_words(said.get('words') or said.get('conditions'))}"
            )
        case EventType.gate_expired:
            return f"Nobody answered {_name(said.get('name'))} in time"
        case EventType.feedback_dismissed:
            return f"A maintainer dismissed {_name(said.get('rule'))}{_append_words(said.get('description'))}"
        case EventType.feedback_missed:
            return f"A maintainer reported a bug that Forge had not seen{_append_words(said.get('description'))}"
        case EventType.feedback_decided:
            return "" if said.get("approved") else "A person merged it although changes were requested"
        case EventType.ladder_stopped:
            return "A person stopped what Forge was about to do unasked"
        case EventType.run_failed | EventType.run_completed:
            ended = "failed" if event.type is EventType.run_failed else "was completed"
            return f"The run {ended}{f' ({reason})' if (reason := _name(said.get('reason'))) else ''}"
        case _:
            return ""


def _describe_send_back(event: Event, bounce: SendBack | None) -> str:
    phase = "a phase" if event.phase is None else event.phase.value
    wrong = () if bounce is None else bounce.to_fix
    lines = [f"{phase} sent the work back, time {event.payload.get('count', '?')}"]
    lines += [f"> {_name(each.rule)} in {_name(each.path)}: {_shorten(each.message)}" for each in wrong[:_MOST_TO_FIX]]
    return "\n".join(lines)


def _count_findings(events: Sequence[Event]) -> Iterator[Fact]:
    """One fact per rule, with some of its places."""
    found: defaultdict[str, list[Event]] = defaultdict(list)
    for event in events:
        if event.type is EventType.finding_detected:
            found[str(event.payload.get("rule"))].append(event)
    for rule, there in found.items():
        places = dict.fromkeys(_name(event.payload.get("path")) for event in there)
        yield Fact(event=there[-1].id, text=f"{len(there)} × {_name(rule)} found in {', '.join([*places][:3])}")


def _count_tool_failures(events: Sequence[Event]) -> Iterator[Fact]:
    """One fact per tool whose calls failed."""
    used = [event for event in events if event.type is EventType.tool_executed]
    calls = Counter((event.source, event.phase) for event in used)
    failed = [event for event in used if event.payload.get("problem")]
    last = {(event.source, event.phase): event for event in failed}
    for (tool, phase), event in last.items():
        count = sum((each.source, each.phase) == (tool, phase) for each in failed)
        where = "" if phase is None else f" in {phase.value}"
        said = _quote(event.payload.get("problem"))
        yield Fact(event=event.id, text=f"{_name(tool)}: {count} of {calls[tool, phase]} calls failed{where}{said}")


def _append_words(words: object) -> str:
    return f": {_quote(words)}" if words else ""


def _quote(words: object) -> str:
    """A person's words on a quoted line of their own, so that they look like nothing else."""
    return f"\n> {_shorten(words)}" if words else ""


def _shorten(words: object) -> str:
    return strip_hidden(str(words)[: 4 * _WORDS])[:_WORDS]


def _name(name: object) -> str:
    return strip_hidden(str(name or ""))[:_NAME]


class PromptContext(Value):
    """Trusted context above the data of a question.

    It is not data and stands outside the frame: people with write permission stated the conditions, and the lessons
    come from trusted work only. It is no part of the question either, so an answer without it is not asked for again.

    :param conditions: of people who let the run continue.
    :param lessons: memories, the most fitting first.
    """

    conditions: tuple[str, ...] = ()
    lessons: tuple[Memory, ...] = ()

    def prepend_to(self, asked: T) -> T:
        """The question or assignment with this context above its content; its key stays the same."""
        said: list[str] = []
        if self.conditions:
            said += ["Maintainers let this go on, on these conditions:"]
            said += [f"- {redact_outgoing(flatten_markdown(words, _CONDITION))}" for words in self.conditions]
        if self.lessons:
            said += [_LESSONS, *(_render_lesson(each) for each in self.lessons)]
        return asked.model_copy(update={"content": "\n".join([*said, asked.content])})

    def find_named(self, text: str) -> Sequence[Memory]:
        """The lessons that an answer names."""
        return [each for each in self.lessons if each.short_id in text]


def _render_lesson(memory: Memory) -> str:
    when = f" [{redact_outgoing(flatten_markdown(memory.context, _CONDITION))}]" if memory.context else ""
    return f"- {memory.short_id}{when} {redact_outgoing(flatten_markdown(memory.content, LONGEST))}"
