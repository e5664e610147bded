"""Asks a model what a person's reply to a finding means, and then, if it is a question, for the answer.

What a reply means is asked without the code: whoever wrote that must not have a say in what somebody else said.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated

from pydantic import BaseModel, Field, WithJsonSchema

from agents.llm.ask import Question
from agents.prompts import prompt
from agents.review.model.questions import framed, plain, without_hidden
from agents.review.model.rendering import Redact, clean
from domain.review.findings import Finding
from domain.text.redaction import outgoing

KEY = "hear "
"""How the keys of these questions begin."""

SURE = 0.8
"""From here on a disagreement is taken for a dismissal; a person is asked where it is less clear."""

_WORDS, _ANSWER = 1_500, 1_200  # characters
_AROUND = 12  # lines of code around the finding


class Meaning(StrEnum):
    """What a reply says about its finding."""

    agreement = "agreement"
    disagreement = "disagreement"
    question = "question"
    other = "other"


class Heard(BaseModel):
    """What the model hands in.

    :param has_reason: whether a disagreement says why.
    """

    meaning: Meaning
    has_reason: bool = False
    confidence: Annotated[float, Field(ge=0, le=1), WithJsonSchema({"type": "number"})]

    @property
    def is_sure(self) -> bool:
        return self.confidence >= SURE


class Told(BaseModel):
    """The answer to a question."""

    answer: str

    @property
    def line(self) -> str:
        """The answer as one line of bounded length."""
        return outgoing(without_hidden(self.answer))[:_ANSWER]


def meaning(key: str, finding: Finding, words: str, redact: Redact) -> Question:
    """The question what a reply means.

    :param key: names it in its phase.
    :param words: of the reply, Markdown of a person who need not be trusted.
    """
    content = framed(redact("\n".join(["== reply", f"> {plain(words, _WORDS)}", *_finding(finding)])))
    return Question(key=f"{key} meaning", instructions=prompt("hear"), content=content, max_output_tokens=300)


def answer(key: str, finding: Finding, words: str, lines: Sequence[str], redact: Redact) -> Question:
    """What a person asks about a finding.

    :param lines: of the finding's file; none where it must not be sent.
    """
    parts = ["== question", f"> {plain(words, _WORDS)}", *_finding(finding), *_code(finding, lines)]
    content = framed(redact("\n".join(parts)))
    return Question(key=f"{key} answer", instructions=prompt("answer"), content=content, max_output_tokens=600)


def _finding(finding: Finding) -> list[str]:
    told = f"{finding.id} {clean(finding.where)} {finding.rule}, {finding.severity.value}: {clean(finding.message)}"
    return ["== finding", told]


def _code(finding: Finding, lines: Sequence[str]) -> list[str]:
    if finding.line is None or not lines or finding.is_credential:
        return []
    first = max(1, finding.line - _AROUND)
    shown = lines[first - 1 : (finding.end_line or finding.line) + _AROUND]
    return ["== code", *(f"{number} {text[:300]}" for number, text in enumerate(shown, first))]
