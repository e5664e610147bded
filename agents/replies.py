"""Asks a model what a reply means, for the answer to a question about a finding, and whether an objection is right.

What a reply means is judged without the code, so that the code's author cannot influence how it is read. Whether an
objection is right is judged with the code that it is about.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated

from pydantic import Field, WithJsonSchema

from agents.llm.ask import Question
from agents.prompts import build_question, flatten_markdown, strip_hidden
from domain.paths import clean_name
from domain.review.findings import Finding
from domain.text.redaction import redact_outgoing
from domain.value import Value
from messages.proofs import find_shown_test

_PASSAGE, _COMMENT, _BODY, _QUESTION = 800, 2_000, 3_000, 5_000  # characters

KEY = "hear "
"""The prefix of these questions' keys."""

SURE = 0.8
"""The least confidence at which a disagreement counts as a dismissal; below it, Forge asks a person."""

_WORDS, _ANSWER = 1_500, 1_200  # characters
_AROUND, _ALL_AROUND = 12, 80  # lines of code around the finding: for a question, and for what speaks against it


class Meaning(StrEnum):
    """What a reply says about the finding or comment it replies to."""

    agreement = "agreement"
    disagreement = "disagreement"
    question = "question"
    request = "request"
    answer = "answer"  # to a question of Forge about what it was asked to do
    other = "other"


class NamedCommand(StrEnum):
    """The commands that a request in words may stand for; none of them decides, merges, spends or sets a level."""

    update = "update"
    mend = "mend"
    tests = "tests"
    changelog = "changelog"
    describe = "describe"
    review = "review"  # is pointed to, not begun


class ReplyReading(Value):
    """The model's report on a reply.

    :param command: what a request asks for, where that is all of it.
    :param has_reason: whether a disagreement gives a reason.
    """

    meaning: Meaning
    has_reason: bool = False
    command: NamedCommand | None = None
    confidence: Annotated[float, Field(ge=0, le=1), WithJsonSchema({"type": "number"})]

    @property
    def is_sure(self) -> bool:
        return self.confidence >= SURE

    @property
    def asks_for_review(self) -> bool:
        """Whether it asks for nothing but another look at all of it."""
        return self.meaning is Meaning.request and self.command is NamedCommand.review and self.is_sure


class ArgumentVerdict(Value):
    """The model's judgement of what a person says against a finding.

    :param why: written first, because a model that writes it judges better.
    :param line: that decides it; 0 if none does.
    """

    why: str
    is_right: bool
    line: int = 0


class QuestionAnswer(Value):
    answer: str

    @property
    def line(self) -> str:
        """The answer as one line of bounded length."""
        return redact_outgoing(strip_hidden(self.answer))[:_ANSWER]


def build_meaning_question(key: str, about: Sequence[str], words: str) -> Question:
    """Asks what a reply means.

    :param key: names the question in its phase.
    :param about: lines with the finding or the comment it replies to: see :mod:`agents.replies`.
    :param words: the reply, as untrusted Markdown.
    """
    parts = ["== reply", f"> {flatten_markdown(words, _WORDS)}", *about]
    return build_question(f"{key} meaning", "hear", parts, 300)


def build_answer_question(key: str, finding: Finding, words: str, lines: Sequence[str]) -> Question:
    """Asks for the answer to a person's question about a finding.

    :param lines: the lines of the finding's file; empty if they must not be sent.
    """
    parts = [
        "== question",
        f"> {flatten_markdown(words, _WORDS)}",
        *render_finding(finding),
        *_render_code(finding, lines),
    ]
    return build_question(f"{key} answer", "answer", parts, 600)


def build_argument_question(key: str, finding: Finding, words: str, lines: Sequence[str]) -> Question | None:
    """Asks whether a person is right who says why a finding is wrong; None where no code of it may be shown.

    :param lines: the lines of the finding's file; empty if they must not be sent.
    """
    code, test = _render_code(finding, lines, _ALL_AROUND), find_shown_test(finding)
    if not code:
        return None
    shown = [] if test is None else ["== the test that fails", *(f"> {line}" for line in test.text.split("\n"))]
    said = ["== what the person says", f"> {flatten_markdown(words, _WORDS)}"]
    return build_question(f"{key} argument", "dispute", [*said, *render_finding(finding), *code, *shown], 600)


def _render_code(finding: Finding, lines: Sequence[str], around: int = _AROUND) -> list[str]:
    if finding.line is None or not lines or finding.is_credential:
        return []
    first = max(1, finding.line - around)
    shown = lines[first - 1 : (finding.end_line or finding.line) + around]
    return ["== code", *(f"{number} {text[:300]}" for number, text in enumerate(shown, first))]


def render_finding(finding: Finding) -> Sequence[str]:
    """The finding in whose thread they stand."""
    told = (
        f"{finding.id} {clean_name(finding.where)} {finding.rule}, {finding.severity.value}: "
        f"{clean_name(finding.message)}"
    )
    return ["== finding", told]


def render_comment(text: str, passage: str) -> Sequence[str]:
    """The comment of Forge that they reply to.

    :param text: Markdown; empty if it was only mentioned.
    :param passage: what they quote of it; empty if they reply to the whole.
    """
    comment = ["== comment", f"> {flatten_markdown(text, _COMMENT)}"] if text else []
    quoted = ["== quoted from it", f"> {flatten_markdown(passage, _PASSAGE)}"] if passage else []
    return [*comment, *quoted]


def render_asked(question: str) -> Sequence[str]:
    """The question of Forge that they may answer."""
    return ["== asked by the reviewer", f"> {flatten_markdown(question, _QUESTION)}"]


def render_place(path: str, line: int | None) -> Sequence[str]:
    """The line of code at which they stand."""
    return ["== place", clean_name(path if line is None else f"{path}:{line}")]


def render_issue(title: str, body: str) -> Sequence[str]:
    """The issue below which they stand."""
    return ["== issue", f"> {flatten_markdown(title, _PASSAGE)}", f"> {flatten_markdown(body, _BODY)}"]
