"""Asks a model for a small change that fixes one finding in its file."""

from collections.abc import Sequence
from itertools import pairwise

from pydantic import BaseModel

from agents.llm.ask import Question
from agents.prompts import load_prompt
from agents.prompts.conventions.choice import render_conventions
from agents.review.model.questions import frame_data, strip_hidden
from agents.review.model.rendering import clean_name
from domain.review.conventions import NO_CONVENTIONS, Conventions
from domain.review.findings import Finding
from domain.review.line_edits import LineEdit
from domain.text.escaping import strip_invisible
from domain.text.redaction import Redact, redact_outgoing
from messages.proofs import find_shown_test

KEY = "asked fix "
"""The prefix of these questions' keys."""

_WHOLE, _AROUND, _TOP = 500, 150, 40  # lines: of a file shown whole; around the finding and at the top of a longer one
_LONGEST_LINE, _WORDS = 1_000, 600  # characters


class WrittenFix(BaseModel):
    """The model's report.

    :param refusal: why it makes no change; empty if it makes one.
    """

    edits: list[LineEdit] = []
    summary: str = ""
    refusal: str = ""

    def clean(self) -> "WrittenFix":
        """The same with its words as single lines of bounded length."""
        words = {name: redact_outgoing(strip_hidden(getattr(self, name)))[:_WORDS] for name in ("summary", "refusal")}
        return self.model_copy(update=words)


def build_question(
    finding: Finding,
    lines: Sequence[str],
    mistakes: Sequence[str],
    redact: Redact,
    *,
    shows_output: bool = True,
    conventions: Conventions = NO_CONVENTIONS,
) -> Question:
    """Asks for a change that fixes a finding.

    :param lines: of its file at head.
    :param mistakes: what was wrong with the answer before; empty at first.
    :param redact: removes credentials from a text.
    :param shows_output: whether a model may see what the test printed that shows the finding.
    :param conventions: what the repository wrote down about how it wants this file to be written.
    """
    told = f"{finding.id} {clean_name(finding.where)} {finding.rule}, {finding.severity.value}: "
    parts = ["== finding", f"> {told}{strip_hidden(finding.message)}", f"== {clean_name(finding.path)}"]
    parts += _render_lines(finding, lines)
    parts += [*_render_goal(finding, shows_output=shows_output), *render_conventions(conventions)]
    if mistakes:
        parts += ["== what was wrong with your first answer", *(f"- {mistake}" for mistake in mistakes)]
    return Question(
        key=f"{KEY}{finding.id}{' again' if mistakes else ''}",
        instructions=load_prompt("fix"),
        content=frame_data(redact("\n".join(parts))),
        max_output_tokens=3_000,
    )


def _render_goal(finding: Finding, *, shows_output: bool) -> list[str]:
    """The test that shows the finding, which has to pass with the change; nothing where none does."""
    test = find_shown_test(finding)
    if test is None:
        return []
    printed = ["== what that prints", *_quote_lines(test.output)] if shows_output else []
    return [f"== the test that shows it: {clean_name(test.path)}", *_quote_lines(test.text), *printed]


def _quote_lines(text: str) -> list[str]:
    return [f"> {strip_invisible(line)[:_LONGEST_LINE]}" for line in text.rstrip("\n").split("\n")]


def _render_lines(finding: Finding, lines: Sequence[str]) -> list[str]:
    first, last = finding.comment_lines
    lines = lines[:-1] if lines[-1] == "" else lines  # behind the last line break
    if len(lines) <= _WHOLE:
        shown = list(range(1, len(lines) + 1))
    else:
        near = range(max(1, first - _AROUND), min(len(lines), last + _AROUND) + 1)
        shown = sorted({*range(1, _TOP + 1), *near})
    gaps = {two for one, two in pairwise(shown) if two > one + 1}
    return [part for number in shown for part in (*(["…"] if number in gaps else []), _line(number, lines))]


def _line(number: int, lines: Sequence[str]) -> str:
    return f"{number} {strip_invisible(lines[number - 1])[:_LONGEST_LINE]}"
