"""Decides whether a suggestion may be offered: it changes something, destroys nothing and repeats no line beside it."""

import re
from collections.abc import Iterable, Sequence
from difflib import Match, SequenceMatcher
from functools import lru_cache

from domain.review.findings import Fix

_LOST = "\ufffd"  # what a text shows of bytes that are not UTF-8
_EMPTY_LINES = re.compile(r"\A([ \t]*\r?\n)+")


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


def apply_all(fixes: Iterable[Fix], content: bytes) -> bytes:
    """The file with replacements of which no two are of the same lines.

    Where they take away what stood above everything, the empty lines below that go, too.
    """
    text = content.decode(errors="surrogateescape")
    for fix in sorted(fixes, key=lambda fix: fix.start_line, reverse=True):
        text = apply(fix, text)
    text = text if content[:1].isspace() else _EMPTY_LINES.sub("", text)
    return text.encode(errors="surrogateescape")


def move(fix: Fix, old: bytes, new: bytes) -> Fix | None:
    """The same replacement in a later version of the file; None if its lines are others there."""
    if old == new:
        return fix
    first, last = fix.start_line - 1, fix.end_line
    block = next((each for each in _match(old, new) if each.a <= first and last <= each.a + each.size), None)
    return None if block is None else fix.move(block.b - block.a)


@lru_cache(maxsize=4)
def _match(old: bytes, new: bytes) -> Sequence[Match]:
    """The lines that both versions of a file have, matched once for all of its fixes."""
    return SequenceMatcher(None, old.split(b"\n"), new.split(b"\n"), autojunk=False).get_matching_blocks()


def overlap(one: Fix, other: Fix) -> bool:
    """Whether two replacements are of the same lines."""
    return one.start_line <= other.end_line and other.start_line <= one.end_line


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
