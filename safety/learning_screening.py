"""Decides which learnings of a model Forge proposes to people.

A learning must name something that occurred, say what to do or what is true, be new, copy nothing and name its event.
Whether it is right, and asks for no less care, no rule over words can tell, in any language: memories are trusted text
in later prompts, so a person says so before anything is told of it.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from domain.memories import Memory, MemoryKind
from domain.text.redaction import redact_outgoing
from domain.text.similarity import Statement, extract_names, measure_copying
from domain.value import Value
from domain.verdicts import Reason

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
