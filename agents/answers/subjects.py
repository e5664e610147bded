"""Renders what a person's words are about: a finding, a comment of Forge, or an issue."""

from collections.abc import Sequence

from agents.review.model.questions import flatten_markdown
from domain.paths import clean_name
from domain.review.findings import Finding

_PASSAGE, _COMMENT, _BODY, _QUESTION = 800, 2_000, 3_000, 5_000  # characters


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
