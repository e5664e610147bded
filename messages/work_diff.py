"""Unified diffs of what agents changed: without secrets, and inert wherever they are shown."""

import difflib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, takewhile

from domain.runs.patches import ChangedFile
from domain.text.escaping import flatten_redacted, strip_invisible
from domain.text.phrases import name_count
from domain.text.redaction import redact_outgoing

_LARGEST = 500_000  # bytes of a file whose lines are compared
_MOST_LINES = 20_000  # on both sides between what they begin and end with alike; difflib takes quadratic time
_CONTEXT = 3  # lines
_LONGEST = 1_000  # characters of a line on a page
_KINDS = {"+": "added", "-": "removed", "@": "place", "\\": "place"}


@dataclass(frozen=True)
class DiffRoom:
    """How much of a diff a page has room for.

    :param compared: bytes of the files that are compared, on both sides.
    """

    lines: int = 3_000
    characters: int = 3_000_000
    compared: int = 30_000_000


@dataclass(frozen=True)
class ShownDiff:
    """A diff on a page.

    :param lines: each with ``added``, ``removed``, ``place`` or nothing.
    :param left_out: what is not shown; empty if everything is.
    """

    lines: Sequence[tuple[str, str]] = ()
    left_out: str = ""


def fit_diff(files: Iterable[ChangedFile], room: DiffRoom) -> ShownDiff:
    """As much of a diff as there is room for, and what is left out."""
    lines: list[tuple[str, str]] = []
    left_files = left_lines = characters = compared = 0
    for file in files:
        compared += sum(len(side) for side in (file.before, file.after) if side is not None)
        if len(lines) >= room.lines or characters > room.characters or compared > room.compared:
            left_files += 1
            continue
        for line in render_file(file):
            characters += min(len(line), _LONGEST)
            if len(lines) < room.lines and characters <= room.characters:
                lines.append((_shorten(line), _name_kind(line)))
            else:
                left_lines += 1
    left = [name_count(number, noun) for number, noun in ((left_files, "whole file"), (left_lines, "line")) if number]
    return ShownDiff(lines, " and ".join(left))


def _shorten(line: str) -> str:
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}… and {len(line) - _LONGEST:,} characters more"


def _name_kind(line: str) -> str:
    return "place" if line.startswith(("--- ", "+++ ")) else _KINDS.get(line[:1], "")


def name_change(file: ChangedFile) -> str:
    """A changed file's path, and whether it is new or gone."""
    how = " (new)" if file.is_new else " (deleted)" if file.is_gone else ""
    return f"{flatten_redacted(file.path)}{how}"


def render_diff(files: Iterable[ChangedFile]) -> list[str]:
    """The diffs of text files, and the sizes of others."""
    return [line for file in files for line in render_file(file)]


def render_file(file: ChangedFile) -> Iterator[str]:
    """What changed in one file: lines of a unified diff, or why there are none."""
    path = flatten_redacted(file.path)
    if file.old_mode not in {None, file.mode} and not file.is_new:
        yield f"{path}: mode {file.old_mode} before, {file.mode} now"
    before, after = _read_text(file.before), _read_text(file.after)
    if before is None or after is None:
        yield f"{path}: no text, or too long: {_size(file.before)} before, {_size(file.after)} now"
        return
    old, new = "/dev/null" if file.is_new else f"a/{path}", "/dev/null" if file.is_gone else f"b/{path}"
    lines = _compare(_split(before), _split(after), old, new)
    if lines is None:
        yield f"{path}: too much differs to compare it here: {_size(file.before)} before, {_size(file.after)} now"
        return
    if not lines and file.before != file.after:
        is_empty = not (file.before or file.after)
        yield f"{path}: {'an empty file' if is_empty else 'only what is masked here'} differs"
    for line in lines:
        yield strip_invisible(line.removesuffix("\n")).replace("\n", " ")
        if not line.endswith("\n"):
            yield "\\ No newline at end of file"


def _compare(before: list[str], after: list[str], old: str, new: str) -> list[str] | None:
    """Lines of a unified diff; None if too many lines differ. Only what lies between equal beginnings and ends counts.

    :param old: name of the file before; ``new``: now.
    """
    head = _count_equal(zip(before, after, strict=False))
    longest = min(len(before), len(after)) - head
    tail = _count_equal(islice(zip(reversed(before), reversed(after), strict=False), longest))
    if len(before) + len(after) - 2 * (head + tail) > _MOST_LINES:
        return None
    skipped, left = max(head - _CONTEXT, 0), max(tail - _CONTEXT, 0)
    was, now = (lines[skipped : len(lines) - left] for lines in (before, after))
    return [_move_place(line, skipped) for line in difflib.unified_diff(was, now, old, new, n=_CONTEXT)]


def _count_equal(pairs: Iterable[tuple[str, str]]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _move_place(line: str, lines: int) -> str:
    """A line of a diff; where it is the head of a passage, that passage begins so many lines later."""
    if not line.startswith("@@"):
        return line
    return re.sub(r"(?<=[-+])\d+", lambda match: str(int(match[0]) + lines), line)


def _read_text(content: bytes | None) -> str | None:
    """The text without secrets, empty for a file that is not there; None if it is no text, or too long."""
    if content is None:
        return ""
    if len(content) > _LARGEST or b"\0" in content:
        return None
    try:
        return redact_outgoing(content.decode())
    except UnicodeDecodeError:
        return None


def _split(text: str) -> list[str]:
    """Its lines as git counts them, each with its end."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def _size(content: bytes | None) -> str:
    return "not there" if content is None else f"{len(content):,} bytes"
