"""Compares texts line by line, in bounded time whatever strangers put into them.

difflib takes a minute for some thousand lines that are mostly the same. Where there are that many, lines that each text
has once part it first, as in the patience diff (Cohen, "Patience Diff Advantages", 2010).
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import Match, SequenceMatcher
from typing import NamedTuple, TypeVar

Line = TypeVar("Line", str, bytes)

_WHOLE = 250_000
"""Pairs of lines up to which texts are compared as they are."""
_BETWEEN = 10_000
"""Pairs of lines up to which what stands between two lines is compared; more count as replaced."""


class LineChange(NamedTuple):
    """Lines that stand in the place of others: ``new[at:to]`` of ``old[start:end]``; one of them may be empty."""

    start: int
    end: int
    at: int
    to: int


def list_changes(old: Sequence[Line], new: Sequence[Line]) -> list[LineChange]:
    """The places at which two texts differ, in their order."""
    changes: list[LineChange] = []
    start = at = 0
    for match in match_lines(old, new):
        if start < match.a or at < match.b:
            changes.append(LineChange(start, match.a, at, match.b))
        start, at = match.a + match.size, match.b + match.size
    return changes


def match_lines(old: Sequence[Line], new: Sequence[Line]) -> list[Match]:
    """The lines that two texts share, as :meth:`difflib.SequenceMatcher.get_matching_blocks` lists them."""
    if len(old) * len(new) <= _WHOLE:
        return SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks()
    found = [Match(0, 0, 0)]
    for anchor in (*_find_anchors(old, new), Match(len(old), len(new), 0)):
        start, at = found[-1].a + found[-1].size, found[-1].b + found[-1].size
        for each in (*_match_between(old[start : anchor.a], new[at : anchor.b], start, at), anchor):
            last = found[-1]
            if each.size and (last.a + last.size, last.b + last.size) == (each.a, each.b):
                found[-1] = last._replace(size=last.size + each.size)
            else:
                found.append(each)
    return [*(each for each in found[:-1] if each.size), found[-1]]


def _match_between(old: Sequence[Line], new: Sequence[Line], start: int, at: int) -> Iterator[Match]:
    """The lines that two parts share which begin at ``start`` and ``at``: if they are long, those at their ends."""
    if len(old) * len(new) <= _BETWEEN:
        shared = SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks()
        yield from (Match(each.a + start, each.b + at, each.size) for each in shared if each.size)
        return
    shorter = min(len(old), len(new))
    first = next((each for each in range(shorter) if old[each] != new[each]), shorter)
    last = next((each for each in range(shorter - first) if old[-1 - each] != new[-1 - each]), shorter - first)
    yield from (
        each
        for each in (Match(start, at, first), Match(start + len(old) - last, at + len(new) - last, last))
        if each.size
    )


def _find_anchors(old: Sequence[Line], new: Sequence[Line]) -> list[Match]:
    """The most lines that each text has once and both have in the same order."""
    places = {line: number for number, line in enumerate(new)}
    once = {line for line, count in Counter(new).items() if count == 1}
    once &= {line for line, count in Counter(old).items() if count == 1}
    pairs = [Match(number, places[line], 1) for number, line in enumerate(old) if line in once]
    lowest: list[int] = []  # of each length of a row: where the row ends that ends first in the other text
    lengths: list[int] = []  # of each pair: of the longest row that ends with it
    for pair in pairs:
        lengths.append(bisect_left(lowest, pair.b))
        lowest[lengths[-1] : lengths[-1] + 1] = [pair.b]
    row: list[Match] = []
    for pair, length in zip(reversed(pairs), reversed(lengths), strict=True):
        if length == len(lowest) - 1 - len(row) and (not row or pair.b < row[-1].b):
            row.append(pair)
    return row[::-1]
