"""Comments that tell a tool to be silent: whose count, and how many of them a change adds.

Those of people who may write to the repository count, and are said. In code of strangers no tool heeds any, and a
credential is reported whatever stands beside it.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from agents.review.checks.inputs import Subject
from agents.review.checks.workflows import is_workflow
from domain.review.findings import Layer
from safety.containment import Origin

PYLINT = re.compile(r"#\s*pylint:\s*disable(-next)?=")
"""Whoever wrote this has seen the same remark of another linter and decided."""


@dataclass(frozen=True)
class Comment:
    """A kind of comment, what people call it, and the layer it silences."""

    word: str
    layer: Layer
    pattern: re.Pattern[str]


_IN_PYTHON = (
    Comment("noqa", Layer.static, re.compile(r"#\s*((ruff|flake8)\s*[:=]\s*)?noqa\b", re.IGNORECASE)),
    Comment("ruff: ignore", Layer.static, re.compile(r"#\s*ruff\s*:\s*([\w-]*ignore|disable)\b", re.IGNORECASE)),
    Comment("pylint: disable", Layer.static, PYLINT),
    Comment("type: ignore", Layer.static, re.compile(r"#\s*type\s*:\s*ignore\b")),
    Comment("nosec", Layer.security, re.compile(r"#\s*nosec")),
)
_IN_WORKFLOWS = (Comment("zizmor: ignore", Layer.security, re.compile(r"#\s*zizmor:\s*ignore\b")),)


@dataclass(frozen=True)
class Silenced:
    """An added line that holds such a comment."""

    path: str
    line: int
    comment: Comment


def counts(origin: Origin) -> bool:
    """Whether comments that silence a tool count in this code."""
    return origin is not Origin.stranger


def added(files: Sequence[Subject]) -> tuple[Silenced, ...]:
    """The comments on lines that the change adds, less those of the same kind that it takes out of the file."""
    return tuple(
        Silenced(file.path, line, comment)
        for file in files
        for comment in _possible(file)
        for line in _holding(comment, file)[_removed(comment, file) :]
    )


def _holding(comment: Comment, file: Subject) -> list[int]:
    return [line for line, text in file.change.added_lines.items() if comment.pattern.search(text)]


def _removed(comment: Comment, file: Subject) -> int:
    gone = (text for hunk in file.change.hunks for _, new, text in hunk.numbered() if new is None)
    return sum(comment.pattern.search(text) is not None for text in gone)


def lines(silenced: Sequence[Silenced]) -> int:
    """On how many lines they are."""
    return len({(one.path, one.line) for one in silenced})


def note(silenced: Sequence[Silenced], layer: Layer, origin: Origin) -> str | None:
    """What people should know about the comments for one layer; None if there are none."""
    mine = [one for one in silenced if one.comment.layer is layer]
    if not mine:
        return None
    number = lines(mine)
    words = ", ".join(sorted({f"`{one.comment.word}`" for one in mine}))
    noun, verb = ("line", "silences") if number == 1 else ("lines", "silence")
    if counts(origin):
        return f"{number} added {noun} {verb} remarks ({words})."
    return f"{number} added {noun} would silence remarks ({words}); in code from a fork that does not count."


def _possible(file: Subject) -> Sequence[Comment]:
    if file.is_python:
        return _IN_PYTHON
    return _IN_WORKFLOWS if is_workflow(file.path) else ()
