"""Every text of `/forge walkthrough`: a change explained part by part, made inert."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from domain.review.changes import SkippedFile
from domain.text.escaping import escape, inline_code, inline_path

_TITLE, _WHAT, _WHY = 120, 900, 240  # characters
_MOST_LEFT = 30
_LONGEST = 60_000  # characters of a comment; GitHub takes 65,536


@dataclass(frozen=True)
class ExplainedFile:
    """A file of a part, with its first and last line there; 0 where it has none at the head.

    :param why: what it is for; a model's words.
    """

    path: str
    first: int
    last: int
    why: str

    @property
    def key(self) -> tuple[str, int, int]:
        """What makes it the same place."""
        return self.path, self.first, self.last


@dataclass(frozen=True)
class ExplainedPart:
    """A part of a change; the words are a model's.

    :param hardest: what to look at hardest.
    """

    title: str
    what: str
    files: tuple[ExplainedFile, ...]
    hardest: str


def render_walkthrough(
    parts: Sequence[ExplainedPart], left_out: Sequence[SkippedFile], head_sha: str, marker: str = ""
) -> str:
    """The whole walk, and what is not in it; without what each file is for, where that is too long for a comment."""
    text = _render(parts, left_out, head_sha, marker)
    if len(text) <= _LONGEST:
        return text
    brief = [replace(part, files=tuple(replace(file, why="") for file in part.files)) for part in parts]
    return _render(brief, left_out, head_sha, marker)


def _render(parts: Sequence[ExplainedPart], left_out: Sequence[SkippedFile], head_sha: str, marker: str) -> str:
    count = "one part" if len(parts) == 1 else f"{len(parts)} parts, in the order to read them"
    head = f"**Walkthrough** of {inline_code(head_sha[:7])}: {count}."
    shown = [_render_part(number, part) for number, part in enumerate(parts, 1)]
    foot = "<sub>A model wrote it from the diff. After a push, `/forge walkthrough` brings it up to date.</sub>"
    return "\n\n".join(part for part in (head, *shown, _render_left_out(left_out), foot, marker) if part)


def report_nothing(left_out: Sequence[SkippedFile]) -> str:
    """Where no file of the change can be explained."""
    return "\n\n".join(
        filter(None, ("No walkthrough: nothing of this change is explained.", _render_left_out(left_out)))
    )


UNNAMED = "the model explains it in no part"
"""Why a file is in no part: the model put it into none."""


def _render_part(number: int, part: ExplainedPart) -> str:
    rows = [f"{at}. {_render_file(file)}" for at, file in enumerate(part.files, 1)]
    hardest = escape(part.hardest, _WHY)
    return "\n\n".join(
        [
            f"**{number}. {escape(part.title, _TITLE)}**",
            escape(part.what, _WHAT),
            "\n".join(rows),
            *([f"Look hardest at: {hardest}"] if hardest else []),
        ]
    )


def _render_file(file: ExplainedFile) -> str:
    lines = f"{file.first}" if file.first == file.last else f"{file.first}–{file.last}"
    where = inline_path(f"{file.path}:{lines}" if file.first else file.path)
    why = escape(file.why, _WHY)
    return f"{where}: {why}" if why else where


def _render_left_out(left_out: Sequence[SkippedFile]) -> str:
    if not left_out:
        return ""
    rows = [f"- {inline_path(each.path)}: {escape(each.reason)}" for each in left_out[:_MOST_LEFT]]
    more = len(left_out) - _MOST_LEFT
    rows += [f"- and {more} more"] if more > 0 else []
    return f"<details><summary>Left out: {len(left_out)}</summary>\n\n" + "\n".join(rows) + "\n\n</details>"
