"""Decides whether a suggestion may be offered: it changes something, destroys nothing and repeats no line beside it."""

from collections.abc import Sequence

from domain.review.findings import Fix

_LOST = "\ufffd"  # what a text shows of bytes that are not UTF-8


def is_fit(fix: Fix, lines: Sequence[str]) -> bool:
    """Whether a replacement of lines fits the file.

    :param lines: of the file at head; bytes that are not UTF-8 are replaced.
    """
    old = _strip_returns(lines[fix.start_line - 1 : fix.end_line])
    if _LOST in fix.replacement or any(_LOST in line for line in old):
        return False
    if not fix.replacement:
        return True
    new = _strip_returns(fix.replacement.split("\n"))
    before = _strip_returns(lines[max(fix.start_line - 1 - len(new), 0) : fix.start_line - 1])
    after = _strip_returns(lines[fix.end_line : fix.end_line + len(new)])
    return new != old and not (_repeats_above(new, old, before) or _repeats_below(new, old, after))


def apply(fix: Fix, text: str) -> str:
    """The file with the replacement, in the line ends of the lines that it replaces."""
    lines = text.split("\n")
    ending = "\r" if lines[fix.start_line - 1].endswith("\r") else ""
    new = [line + ending for line in _strip_returns(fix.replacement.split("\n"))] if fix.replacement else []
    return "\n".join([*lines[: fix.start_line - 1], *new, *lines[fix.end_line :]])


def _repeats_above(new: Sequence[str], old: Sequence[str], before: Sequence[str]) -> bool:
    """Whether it begins with lines that stand above already, as of a model that copied too much."""
    return any(_is_copy(new[:count], before[-count:], old[:count]) for count in range(1, len(before) + 1))


def _repeats_below(new: Sequence[str], old: Sequence[str], after: Sequence[str]) -> bool:
    return any(_is_copy(new[-count:], after[:count], old[-count:]) for count in range(1, len(after) + 1))


def _is_copy(part: Sequence[str], beside: Sequence[str], was: Sequence[str]) -> bool:
    """Whether lines repeat those beside them, however they are indented; what was replaced may have done so, too."""
    bare = [line.strip() for line in part]
    return bare == [line.strip() for line in beside] and bare != [line.strip() for line in was] and any(bare)


def _strip_returns(lines: Sequence[str]) -> list[str]:
    return [line.removesuffix("\r") for line in lines]
