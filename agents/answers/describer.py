"""Asks a model for the title and the description of a pull request, section by section of its template."""

from collections.abc import Sequence

from agents.llm.ask import Question
from agents.prompts import load_prompt
from agents.review.model.file_selection import ReadingLimits, is_only_text, select_files
from agents.review.model.questions import flatten_markdown, frame_data
from domain.globs import matches
from domain.paths import clean_name
from domain.review.changes import Change
from domain.text.description import split_sections
from domain.text.escaping import strip_invisible
from domain.text.redaction import Redact
from domain.value import Value

_SIZE = ReadingLimits(question=12_000, questions=1, context=0, least_context=0)  # of the diff
_BODY, _TEMPLATE, _ISSUE, _LINE = 8_000, 6_000, 3_000, 300  # characters
_MOST_FILES, _MOST_COMMITS = 100, 50


class DescribedChange(Value):
    """What a description is written from; all of it untrusted.

    :param title: as it is; :param body: the description as it is, without what Forge wrote in it.
    :param template: of the repository; empty if there is none.
    :param issue: the text of the issue that the pull request closes; empty if it closes none.
    :param commits: the first lines of its commits, oldest first.
    """

    title: str
    body: str
    template: str
    issue: str
    commits: tuple[str, ...]


class DraftedSection(Value):
    """A section of the model's description."""

    heading: str = ""
    text: str


class DraftedDescription(Value):
    """The model's title and description."""

    title: str
    sections: list[DraftedSection] = []


def build_question(
    key: str, about: DescribedChange, change: Change, never_send: Sequence[str], redact: Redact
) -> Question:
    """Asks for the description of a change.

    :param never_send: globs of files that a model must not see.
    :param redact: removes credentials from a text.
    """
    reading = select_files(
        change, {}, withheld={}, never_send=never_send, redact=redact, size=_SIZE, texts=is_only_text(change)
    )
    sections = [section.name for section in split_sections(about.template) if section.name]
    parts = [
        "== title now",
        f"> {flatten_markdown(about.title, _LINE)}",
        *_quote("== description now, which stays", about.body, _BODY),
        *_quote("== template", about.template, _TEMPLATE),
        "== sections to write",
        *([f"- {name}" for name in sections] or ["- (one, without a heading)"]),
        *_quote("== the issue that it closes", about.issue, _ISSUE),
        "== commits",
        *(f"- {flatten_markdown(subject, _LINE)}" for subject in about.commits[-_MOST_COMMITS:]),
        "== files",
        *(f"- {clean_name(path)}" for path in change.paths[:_MOST_FILES] if not matches(path, never_send)),
        "== diff",
        *(shown.text for group in reading.groups for shown in group),
    ]
    return Question(
        key=key,
        instructions=load_prompt("describe"),
        content=frame_data(redact("\n".join(parts))),
        max_output_tokens=2_500,
    )


def _quote(heading: str, text: str, most: int) -> list[str]:
    """A text of several lines, none of which looks like a heading of the question."""
    lines = strip_invisible(text)[:most].strip().split("\n")
    return [heading, *(f"> {line}" for line in lines)] if text.strip() else []
