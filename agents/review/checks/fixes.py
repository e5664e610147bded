"""Turns the edits of a tool (ranges of characters) into one replacement of whole lines."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate

from domain.review.findings import Fix

_MOST_LINES = 30


@dataclass(frozen=True, order=True)
class Edit:
    """Replace the text between two positions; lines and columns (in characters) start at 1, the end is exclusive."""

    line: int
    column: int
    end_line: int
    end_column: int
    content: str


def merge_edits(text: str, edits: Sequence[Edit], first: int, last: int) -> Fix | None:
    """One replacement of whole lines with the effect of all edits; None if there is no such replacement.

    :param text: the file at head.
    :param edits: together with the finding's own lines, they must touch one contiguous block.
    :param first: first line of the finding.
    :param last: last line of the finding.
    """
    laid_out = _split_lines(text)
    if not edits or laid_out.has_lone_returns:
        return None
    lines = laid_out.lines
    ordered = sorted(edits)
    touched = [_find_line_range(edit) for edit in ordered]
    if not _is_contiguous([*touched, (first, last)]):
        return None
    start, end = min(line for line, _ in touched), max(line for _, line in touched)
    if not 1 <= start <= end <= len(lines) or end - start >= _MOST_LINES:
        return None
    result = _apply_edits(text, laid_out, ordered, start, end)
    if result is None:
        return None
    result, end = result
    if result == "":
        return Fix(start_line=start, end_line=end, replacement="")
    replacement = result.removesuffix("\n").replace("\r\n", "\n").removesuffix("\r")
    unchanged = replacement == "\n".join(lines[start - 1 : end]).replace("\r", "")
    # A replacement by one empty line cannot be told from a removal.
    return None if replacement == "" or unchanged else Fix(start_line=start, end_line=end, replacement=replacement)


@dataclass(frozen=True)
class _TextLines:
    """A text by its lines.

    :param offsets: where each line begins, and where one after the last would.
    """

    lines: Sequence[str]
    offsets: Sequence[int]
    has_lone_returns: bool


@lru_cache(maxsize=8)
def _split_lines(text: str) -> _TextLines:
    """The lines of a text, split once for all fixes of a file: there may be thousands."""
    lines = text.split("\n")
    return _TextLines(lines, [0, *accumulate(len(line) + 1 for line in lines)], "\r" in text.replace("\r\n", ""))


def _find_line_range(edit: Edit) -> tuple[int, int]:
    """First and last line of an edit; one that ends at the beginning of a line does not touch that line."""
    ends_before = edit.end_column == 1 and edit.end_line > edit.line
    return edit.line, edit.end_line - 1 if ends_before else edit.end_line


def _is_contiguous(blocks: Sequence[tuple[int, int]]) -> bool:
    reach: int | None = None
    for start, end in sorted(blocks):
        if reach is not None and start > reach + 1:
            return False
        reach = max(end, reach or end)
    return True


def _apply_edits(
    text: str, laid_out: _TextLines, edits: Sequence[Edit], start: int, end: int
) -> tuple[str, int] | None:
    """The text of lines ``start`` to ``end`` after the edits, and the last line it replaces."""
    lines, offsets = laid_out.lines, laid_out.offsets

    def offset(line: int, column: int) -> int | None:
        if not 1 <= line <= len(lines) + 1 or column < 1:
            return None
        place = offsets[line - 1] + column - 1
        return min(place, len(text)) if line > len(lines) or column <= len(lines[line - 1]) + 1 else None

    parts: list[str] = []
    position = offsets[start - 1]
    for edit in edits:
        begin, finish = offset(edit.line, edit.column), offset(edit.end_line, edit.end_column)
        if begin is None or finish is None or begin < position or finish < begin:
            return None
        parts += [text[position:begin], edit.content]
        position = finish
    joined = "".join(parts)
    if position == min(offsets[end], len(text)) and (not joined or joined.endswith("\n")):
        return joined, end
    if position == offsets[end] and end < len(lines):
        end += 1  # the line break itself was removed: the next line now continues this one
        if end - start >= _MOST_LINES:
            return None
    return joined + text[position : min(offsets[end], len(text))], end
