"""Decides whether a model's small change of one file may be offered, and applies changes of lines."""

import re
from collections.abc import Collection, Sequence
from itertools import pairwise

from domain.review.line_edits import LineEdit, split_lines
from domain.text.escaping import strip_invisible
from domain.text.redaction import holds_secret

MOST_EDITS = 5
MOST_LINES = 60  # removed and added together
_LONGEST_LINE = 1_000
_EMPTY_LINES = re.compile(r"\A([ \t]*\r?\n)+")


def find_mistakes(content: bytes, edits: Sequence[LineEdit]) -> list[str]:
    """What is wrong with a change of a file, in sentences for who wrote it; empty if it can be made.

    :param content: of the file that the edits are about.
    """
    lines = read_lines(content)
    if lines is None:
        return ["The file is not UTF-8 text."]
    ordered = sorted(edits, key=lambda edit: edit.start_line)
    wrong = _check_size(ordered)
    wrong += [problem for edit in ordered for problem in _check_edit(edit, lines)]
    wrong += [
        f"Lines {two.start_line} to {two.end_line} overlap an earlier edit."
        for one, two in pairwise(ordered)
        if two.start_line <= one.end_line
    ]
    return wrong


def apply_edits(content: bytes, edits: Collection[LineEdit]) -> bytes:
    """The new content of a file in which :func:`find_mistakes` finds nothing wrong; line ends stay as they are."""
    lines = content.decode().split("\n")
    for edit in sorted(edits, key=lambda each: each.start_line, reverse=True):
        ending = "\r" if lines[edit.start_line - 1].endswith("\r") else ""
        lines[edit.start_line - 1 : edit.end_line] = [f"{line}{ending}" for line in split_lines(edit.after)]
    return drop_gap("\n".join(lines), content[:1].isspace()).encode()


def drop_gap(text: str, began_empty: bool) -> str:
    """The text without the empty lines with which it begins because what stood above them is gone."""
    return text if began_empty else _EMPTY_LINES.sub("", text)


def overlaps(edits: Collection[LineEdit], first: int, last: int) -> bool:
    """Whether one of these changes is about one of these lines."""
    return any(edit.start_line <= last and first <= edit.end_line for edit in edits)


def read_lines(content: bytes) -> list[str] | None:
    """The lines of a file without their line ends; None if it is no text."""
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else [line.removesuffix("\r") for line in text.split("\n")]


def _check_size(edits: Sequence[LineEdit]) -> list[str]:
    if not edits:
        return ["There is no edit."]
    count = sum(edit.lines for edit in edits)
    if len(edits) > MOST_EDITS or count > MOST_LINES:
        return [f"It is too large: {MOST_EDITS} edits and {MOST_LINES} lines, removed and added, are allowed."]
    return []


def _check_edit(edit: LineEdit, lines: Sequence[str]) -> list[str]:
    where = f"Lines {edit.start_line} to {edit.end_line}"
    if not 1 <= edit.start_line <= edit.end_line <= len(lines):
        return [f"{where} are not in the file, which has {len(lines)}."]
    if "\n".join(lines[edit.start_line - 1 : edit.end_line]) != edit.before.removesuffix("\n"):
        return [f"{where} are not what `before` says they are. Copy them to the letter, without their numbers."]
    if edit.before.removesuffix("\n") == edit.after:
        return [f"{where} stay as they are."]
    return _check_text(where, edit)


def _check_text(where: str, edit: LineEdit) -> list[str]:
    new = [line for line in split_lines(edit.after) if line not in edit.before.split("\n")]
    if any(len(line) > _LONGEST_LINE for line in new):
        return [f"{where} get a line of more than {_LONGEST_LINE} characters."]
    if "\r" in edit.after or any(strip_invisible(line) != line for line in new):
        return [f"{where} get characters that cannot be seen."]
    return [f"{where} get what looks like a credential."] if any(map(holds_secret, new)) else []
