"""Suppression comments: in whose code they count, and how many a change adds.

They count, and are reported, in code of people with write permission. In code of strangers every tool ignores them. A
credential is reported in spite of any comment.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from agents.review.checks import oxlint, script_linters, workflows
from agents.review.checks.inputs import CheckedFile
from domain.review.findings import Layer
from safety.containment import CodeOrigin

PYLINT = re.compile(r"#\s*pylint:\s*disable(-next)?=")
"""Its author has seen the same remark of another linter and decided."""
_NAMED = 3  # lines


@dataclass(frozen=True)
class SuppressionKind:
    """A kind of suppression comment, its common name, and the layer it silences."""

    word: str
    layer: Layer
    pattern: re.Pattern[str]


_IN_PYTHON = (
    SuppressionKind("noqa", Layer.static, re.compile(r"#\s*((ruff|flake8)\s*[:=]\s*)?noqa\b", re.IGNORECASE)),
    SuppressionKind(
        "ruff: ignore", Layer.static, re.compile(r"#\s*ruff\s*:\s*([\w-]*ignore|disable)\b", re.IGNORECASE)
    ),
    SuppressionKind("pylint: disable", Layer.static, PYLINT),
    SuppressionKind("type: ignore", Layer.static, re.compile(r"#\s*type\s*:\s*ignore\b")),
    SuppressionKind("noqa: S", Layer.security, re.compile(r"#\s*noqa\s*:[\s\w,]*\bS\d{3}\b", re.IGNORECASE)),
    SuppressionKind("nosec", Layer.security, re.compile(r"#\s*nosec")),
)
_IN_WORKFLOWS = (SuppressionKind("zizmor: ignore", Layer.security, re.compile(r"#\s*zizmor:\s*ignore\b")),)

_IN_JAVASCRIPT = (
    SuppressionKind("eslint-disable", Layer.static, re.compile(r"\b(oxlint|eslint)-disable\b")),
    SuppressionKind("@ts-ignore", Layer.static, re.compile(r"@ts-(ignore|nocheck|expect-error)\b")),
)
_IN_SHELL = (SuppressionKind("shellcheck disable", Layer.static, re.compile(r"#\s*shellcheck\s.*\bdisable=")),)
_IN_DOCKERFILES = (SuppressionKind("hadolint ignore", Layer.static, re.compile(r"#\s*hadolint\s.*\bignore\b")),)


@dataclass(frozen=True)
class Suppression:
    """An added line with a suppression comment."""

    path: str
    line: int
    comment: SuppressionKind


def is_honoured(origin: CodeOrigin) -> bool:
    """Whether suppression comments count in this code."""
    return origin is not CodeOrigin.stranger


def find_added(files: Sequence[CheckedFile]) -> tuple[Suppression, ...]:
    """The suppression comments that a change adds.

    They are less those of the same kind that it removes from the file, and less lines that it moves from another one.
    """
    removed = {file.path: _list_removed(file) for file in files}
    moved = {line.strip() for lines in removed.values() for line in lines}
    return tuple(
        Suppression(file.path, line, comment)
        for file in files
        for comment in _list_kinds(file)
        for line in _find_new_lines(comment, file, removed[file.path], moved)
    )


def _list_removed(file: CheckedFile) -> list[str]:
    return [text for hunk in file.change.hunks for _, new, text in hunk.number_lines() if new is None]


def _find_new_lines(
    comment: SuppressionKind, file: CheckedFile, removed: Sequence[str], moved: Collection[str]
) -> list[int]:
    """The lines of a kind that are not in the place of those that are removed from the file, nor from elsewhere."""
    gone = [line.strip() for line in removed if comment.pattern.search(line)]
    found = [(number, line.strip()) for number, line in file.change.added_lines.items() if comment.pattern.search(line)]
    return [number for number, line in found if line in gone or line not in moved][len(gone) :]


def count_lines(silenced: Sequence[Suppression]) -> int:
    """How many lines have one."""
    return len({(one.path, one.line) for one in silenced})


def build_note(silenced: Sequence[Suppression], layer: Layer, origin: CodeOrigin) -> str | None:
    """A note for people on one layer's suppression comments; None if there are none."""
    mine = [one for one in silenced if one.comment.layer is layer]
    if not mine:
        return None
    number = count_lines(mine)
    words = ", ".join(sorted({f"`{one.comment.word}`" for one in mine}))
    noun, verb = ("line", "silences") if number == 1 else ("lines", "silence")
    places = _name_places(mine)
    if is_honoured(origin):
        return f"{number} added {noun} {verb} findings ({words}): {places}."
    return f"{number} added {noun} would silence findings ({words}); in code from a fork that does not count: {places}."


def _name_places(silenced: Sequence[Suppression]) -> str:
    places = [*dict.fromkeys(f"{one.path}:{one.line}" for one in silenced)]
    left = len(places) - _NAMED
    return f"{', '.join(places[:_NAMED])}{f' and {left} more' if left > 0 else ''}"


def _list_kinds(file: CheckedFile) -> Sequence[SuppressionKind]:
    kinds = (
        (file.is_python, _IN_PYTHON),
        (workflows.is_workflow(file.path), _IN_WORKFLOWS),
        (oxlint.is_for(file), _IN_JAVASCRIPT),
        (script_linters.is_shell_script(file), _IN_SHELL),
        (script_linters.is_dockerfile(file), _IN_DOCKERFILES),
    )
    return next((comments for applies, comments in kinds if applies), ())
