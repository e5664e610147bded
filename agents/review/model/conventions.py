"""Turns a model's answer about the repository's conventions into findings, each with the sentence that is broken."""

import re
from collections.abc import Mapping, Sequence
from typing import Annotated

from pydantic import BaseModel

from agents.llm.ask import ModelAnswer
from agents.review.model.answers import Confidence, Replacement, clean_message, keep_valid, place_claim, repeats
from agents.review.model.questions import ConventionQuestion
from agents.review.model.rendering import clean_name
from agents.review.model.rules import CONVENTION, RULES
from domain.review.changes import Change, FileVersions
from domain.review.conventions import ConventionFile
from domain.review.findings import Layer, RawFinding
from domain.text.redaction import Redact

_MOST, _LEAST_SURE = 3, 0.6  # findings that are kept, and how sure the model is of each at least
_SHORTEST, _LONGEST = 12, 200  # characters of a quoted convention
_NUMBER = re.compile(r"^\s*\d+ ")


class BrokenConvention(BaseModel):
    """A line that breaks a convention, as the model states it.

    :param trace: why it does. Nobody reads it: a model that writes it first judges better.
    :param convention: the sentence that is broken.
    """

    trace: str = ""
    convention: str
    path: str
    line: int
    end_line: int
    quote: str
    message: str
    confidence: Confidence
    replacement: Replacement = None


class ConventionReport(BaseModel):
    """The model's report."""

    findings: Annotated[list[BrokenConvention], keep_valid(BrokenConvention)]


def extract_broken(
    answer: ModelAnswer | None,
    question: ConventionQuestion | None,
    change: Change,
    versions: Mapping[str, FileVersions],
    found: Sequence[RawFinding],
    *,
    redact: Redact,
) -> tuple[RawFinding, ...]:
    """The valid findings of an answer: each on a line of the diff, with a convention that the model was shown.

    :param found: all other findings; what is said of a line already is not said again.
    """
    if answer is None or answer.value is None or question is None:
        return ()
    kept: list[RawFinding] = []
    for claim in ConventionReport.model_validate(answer.value).findings:
        source = _find_source(claim.convention, question.conventions)
        if source is None or claim.confidence < _LEAST_SURE:
            continue
        severity = RULES[CONVENTION].highest
        finding = place_claim(claim, CONVENTION, severity, question.lines, change, versions, redact)
        if finding is None or any(_is_said(finding, other) for other in (*found, *kept)):
            continue
        kept.append(finding.model_copy(update={"message": f"{finding.message} {source}"}))
    return tuple(kept[:_MOST])


def _is_said(finding: RawFinding, other: RawFinding) -> bool:
    of_model = other.model_copy(update={"category": finding.category}) if other.layer is Layer.model else other
    return repeats(finding, of_model)


def _find_source(quote: str, conventions: Sequence[ConventionFile]) -> str | None:
    """Where the quoted convention stands, with its words; None if it is not what the model was shown."""
    wanted = _squash(_NUMBER.sub("", quote))
    if len(wanted) < _SHORTEST:
        return None
    for file in conventions:
        start, line = 0, None
        text = " ".join(_squash(words) for _, words in file.lines)
        at = text.find(wanted)
        if at < 0:
            continue
        for number, words in file.lines:
            if start > at:
                break
            line, start = number, start + len(_squash(words)) + 1
        said = clean_message(wanted)
        shown = said if len(said) <= _LONGEST else f"{said[: _LONGEST - 1]}…"
        return f"{clean_name(file.path)} line {line} says: “{shown}”"
    return None


def _squash(text: str) -> str:
    return " ".join(text.split())
