"""Asks a model what a person's reply to a finding means, and then, if it is a question, for the answer.

What a reply means is asked without the code: whoever wrote that must not have a say in what somebody else said.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated

from pydantic import BaseModel, Field, WithJsonSchema

from agents.llm.ask import Question
from agents.prompts import load_prompt
from agents.review.model.questions import flatten_markdown, frame_data, strip_hidden
from agents.review.model.rendering import Redact, clean_name
from domain.review.findings import Finding
from domain.text.redaction import redact_outgoing

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


class ReplyReading(BaseModel):
    """What the model hands in.

    :param has_reason: whether a disagreement says why.
    """

    meaning: Meaning
    has_reason: bool = False
    confidence: Annotated[float, Field(ge=0, le=1), WithJsonSchema({"type": "number"})]

    @property
    def is_sure(self) -> bool:
        return self.confidence >= SURE


class QuestionAnswer(BaseModel):
    """The answer to a question."""

    answer: str

    @property
    def line(self) -> str:
        """The answer as one line of bounded length."""
        return redact_outgoing(strip_hidden(self.answer))[:_ANSWER]


def build_meaning_question(key: str, finding: Finding, words: str, redact: Redact) -> Question:
    """The question what a reply means.

    :param key: names it in its phase.
    :param words: of the reply, Markdown of a person who need not be trusted.
    """
    content = frame_data(
        redact("\n".join(["== reply", f"> {flatten_markdown(words, _WORDS)}", *_render_finding(finding)]))
    )
    return Question(key=f"{key} meaning", instructions=load_prompt("hear"), content=content, max_output_tokens=300)


def build_answer_question(key: str, finding: Finding, words: str, lines: Sequence[str], redact: Redact) -> Question:
    """What a person asks about a finding.

    :param lines: of the finding's file; none where it must not be sent.
    """
    parts = [
        "== question",
        f"> {flatten_markdown(words, _WORDS)}",
        *_render_finding(finding),
        *_render_code(finding, lines),
    ]
    content = frame_data(redact("\n".join(parts)))
    return Question(key=f"{key} answer", instructions=load_prompt("answer"), content=content, max_output_tokens=600)


def _render_finding(finding: Finding) -> list[str]:
    told = (
        f"{finding.id} {clean_name(finding.where)} {finding.rule}, {finding.severity.value}: "
        f"{clean_name(finding.message)}"
    )
    return ["== finding", told]


def _render_code(finding: Finding, lines: Sequence[str]) -> list[str]:
    if finding.line is None or not lines or finding.is_credential:
        return []
    first = max(1, finding.line - _AROUND)
    shown = lines[first - 1 : (finding.end_line or finding.line) + _AROUND]
    return ["== code", *(f"{number} {text[:300]}" for number, text in enumerate(shown, first))]
