"""The second look: a sceptical question about the candidates alone, so that people see only confirmed findings."""

from collections.abc import Mapping, Sequence
from typing import Annotated, TypeVar

from pydantic import BaseModel, Field, WithJsonSchema

from agents.llm.ask import ModelAnswer, Question
from agents.prompts import load_prompt
from agents.review.model.answers import LEAST_SURE
from agents.review.model.questions import find_withheld_lines, frame_data
from agents.review.model.rendering import LONGEST_FUNCTION, Redact, clean_name, excerpt, find_enclosing, render_safely
from agents.review.model.rules import cap_severity
from domain.review.changes import Change, FileVersions
from domain.review.findings import RawFinding
from domain.review.outline import NO_OUTLINE, Outline

SURE_ENOUGH = 0.85
"""The least confidence at which a candidate is kept if there is no second look."""
F = TypeVar("F", bound=RawFinding)

_AROUND = 12  # lines around a candidate that are shown


class CandidateVerdict(BaseModel):
    """The verdict of the second look on one candidate."""

    number: int
    confirmed: bool
    confidence: Annotated[float, Field(ge=0, le=1), WithJsonSchema({"type": "number"})]


class Verdicts(BaseModel):
    """The report of the second look."""

    verdicts: list[CandidateVerdict]


def build_second_look(
    candidates: Sequence[RawFinding],
    change: Change,
    versions: Mapping[str, FileVersions],
    found: Sequence[RawFinding] = (),
    *,
    outlines: Mapping[str, Outline] | None = None,
    redact: Redact,
) -> Question | None:
    """Asks whether the candidates are right; None if there are none.

    :param found: findings of layers 1 and 2: lines with credentials stay withheld.
    :param outlines: path → what surrounds the changed lines of this file.
    """
    if not candidates:
        return None
    shown = [
        _render_code(path, candidates, change, versions, found, (outlines or {}).get(path, NO_OUTLINE), redact)
        for path in _list_paths(candidates)
    ]
    asked = [
        f"#{number} {clean_name(finding.where)} {finding.rule}: {finding.message}"
        for number, finding in enumerate(candidates, 1)
    ]
    content = "\n".join([*shown, "== candidates", *asked])
    return Question(
        key="model second look",
        instructions=load_prompt("second_look"),
        content=frame_data(content),
        max_output_tokens=500 + 100 * len(candidates),
    )


def keep_confirmed(candidates: Sequence[F], answer: ModelAnswer) -> tuple[F, ...]:
    """The confirmed candidates, each with the lower of both confidences.

    Without an answer, only candidates with a high confidence are kept.
    """
    if answer.value is None:
        return tuple(finding for finding in candidates if finding.confidence >= SURE_ENOUGH)
    said = {verdict.number: verdict for verdict in Verdicts.model_validate(answer.value).verdicts}
    return tuple(
        _lower_confidence(finding, verdict.confidence)
        for number, finding in enumerate(candidates, 1)
        if (verdict := said.get(number)) is not None and verdict.confirmed and verdict.confidence >= LEAST_SURE
    )


def _lower_confidence(finding: F, confidence: float) -> F:
    lower = min(finding.confidence, confidence)
    graded = cap_severity(finding.rule, finding.severity, lower)
    return finding.model_copy(update={"confidence": lower, "severity": graded})


def _list_paths(candidates: Sequence[RawFinding]) -> list[str]:
    return list(dict.fromkeys(finding.path for finding in candidates))


def _render_code(
    path: str,
    candidates: Sequence[RawFinding],
    change: Change,
    versions: Mapping[str, FileVersions],
    found: Sequence[RawFinding],
    outline: Outline,
    redact: Redact,
) -> str:
    """The lines of a file around its candidates, once each, with the enclosing functions and uses of their names."""
    version, file = versions.get(path), change.file(path)
    head = [] if version is None or version.head is None else version.head.decode(errors="replace").split("\n")
    wanted: set[int] = set()
    for finding in candidates:
        if finding.path == path and finding.line is not None:
            wanted.update(find_enclosing(head, finding.line))
            wanted.update(range(finding.line - _AROUND, (finding.end_line or finding.line) + _AROUND + 1))
            wanted.update(_list_function(outline, finding.line))
    wanted.update(outline.uses)
    lines = render_safely(excerpt(head, wanted, file), find_withheld_lines(found).get(path, ()), redact)
    return "\n".join([f"== {clean_name(path)}", *lines])


def _list_function(outline: Outline, line: int) -> range:
    """The lines of the innermost function around a line, if it is short enough to be shown whole."""
    spans = [span for span in outline.spans if span.start <= line <= span.end]
    is_shown = bool(spans) and spans[-1].end - spans[-1].start < LONGEST_FUNCTION
    return range(spans[-1].start, spans[-1].end + 1) if is_shown else range(0)
