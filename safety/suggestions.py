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


def is_made(fix: Fix, old: bytes, new: bytes) -> bool:
    """Whether a later version of the file has the replacement already, with the lines beside it.

    :param old: the version that it is of.
    """
    made = apply(fix, old.decode(errors="surrogateescape")).encode(errors="surrogateescape")
    count = fix.replacement.count("\n") + 1 if fix.replacement else 0
    first, last = max(fix.start_line - 2, 0), min(fix.start_line + count, made.count(b"\n") + 1)
    return _find_block(made, new, first, last) is not None and _find_block(old, new, *_reach(fix, old)) is None


def find_instead(fix: Fix, old: bytes, new: bytes) -> str:
    """What a later version of the file has instead of the lines that are to be replaced; empty if nothing.

    :param old: the version that the replacement is of.
    """
    blocks, lines = _match(old, new), new.split(b"\n")
    above = (each.b + min(each.size, fix.start_line - 1 - each.a) for each in blocks if each.a < fix.start_line)
    start = max(above, default=0)
    end = min(each.b + max(0, fix.end_line - each.a) for each in blocks if each.a + each.size >= fix.end_line)
    return b"\n".join(lines[start:end]).decode(errors="replace")


def _reach(fix: Fix, text: bytes) -> tuple[int, int]:
    """The lines that a replacement takes away, and those beside it."""
    return max(fix.start_line - 2, 0), min(fix.end_line + 1, text.count(b"\n") + 1)


def _find_block(one: bytes, other: bytes, first: int, last: int) -> Match | None:
    """Where a text has a range of lines of another."""
    return next((each for each in _match(one, other) if each.a <= first and last <= each.a + each.size), None)


@lru_cache(maxsize=4)
def _match(old: bytes, new: bytes) -> Sequence[Match]:
    """The lines that both versions of a file have."""
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
