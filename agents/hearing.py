"""Asks a model what a person's reply to a finding means, and for the answer if it is a question."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated

from pydantic import BaseModel, Field, WithJsonSchema

from agents.asking import Question
from agents.model_review.questions import framed, plain, without_hidden
from agents.model_review.rendering import Redact, clean
from agents.prompts import prompt
from domain.findings import Finding
from domain.redaction import outgoing

SURE = 0.8
"""From here on a disagreement is taken for a dismissal; a person is asked where it is less clear."""

_WORDS, _ANSWER, _REASON = 1_500, 1_200, 300  # characters
_AROUND = 12  # lines of code around the finding


class Meaning(StrEnum):
    """What a reply says about its finding."""

    agreement = "agreement"
    disagreement = "disagreement"
    question = "question"
    other = "other"


class Heard(BaseModel):
    """What the model hands in.

    :param reason: of a disagreement, in one sentence, as the person gives it; empty if they give none.
    :param answer: to a question.
    """

    meaning: Meaning
    reason: str = ""
    answer: str = ""
    confidence: Annotated[float, Field(ge=0, le=1), WithJsonSchema({"type": "number"})]

    @property
    def why(self) -> str:
        """The reason as one line of bounded length."""
        return outgoing(without_hidden(self.reason))[:_REASON]

    @property
    def told(self) -> str:
        """The answer as one line of bounded length."""
        return outgoing(without_hidden(self.answer))[:_ANSWER]


def question(key: str, finding: Finding, words: str, lines: Sequence[str], redact: Redact) -> Question:
    """The question what a reply means.

    :param key: names it in its phase.
    :param words: of the reply, Markdown of a person who need not be trusted.
    :param lines: of the finding's file; none where it must not be sent.
    """
    parts = [
        "== finding",
        f"{finding.id} {clean(finding.where)} {finding.rule}, {finding.severity.value}: {clean(finding.message)}",
        *_code(finding, lines),
        "== reply",
        f"> {plain(words, _WORDS)}",
    ]
    return Question(
        key=key, instructions=prompt("hear"), content=framed(redact("\n".join(parts))), max_output_tokens=600
    )


def _code(finding: Finding, lines: Sequence[str]) -> list[str]:
    if finding.line is None or not lines or finding.is_credential:
        return []
    first = max(1, finding.line - _AROUND)
    shown = lines[first - 1 : (finding.end_line or finding.line) + _AROUND]
    return ["== code", *(f"{number} {text[:300]}" for number, text in enumerate(shown, first))]
