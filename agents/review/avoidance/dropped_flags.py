"""Tells which values of cases only decided whether a test is skipped, and went together with that condition."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from agents.review.avoidance.facts import TestFact
from agents.review.avoidance.pairing import subtract
from agents.review.avoidance.tables import split_row
from agents.review.avoidance.test_change import TestChange

_NAME = re.compile(r"[A-Za-z_]\w*")
_IS_NAME = re.compile(r"[A-Za-z_]\w*$")
_IS_SIGN = re.compile(r"\W+$")


@dataclass(frozen=True)
class DroppedFlags:
    """The conditions for skipping that a change takes away from tests with tables."""

    change: TestChange

    def leave_out(self, path: str, lost: Sequence[str], gained: Sequence[str]) -> tuple[list[str], list[str]]:
        """Of cases that are gone and new those that differ by more than such values at their end."""
        most = self._flags.get(path, 0)
        if not most:
            return [*lost], [*gained]
        shorter = {_open(row): row for row in gained}
        heirs: list[str] = []
        left: list[str] = []
        dropped: list[str] = []
        for row in lost:
            flags = next(_list_endings(row, shorter, most), None)
            if flags is None:
                left.append(row)
                continue
            heirs.append(shorter[flags[0]])
            dropped += flags[1]
        return subtract(left, dropped, str), subtract(gained, heirs, str)

    @cached_property
    def _flags(self) -> dict[str, int]:
        """File → how many values of a case decided about nothing but skipping; none where a test asserts less."""
        found: dict[str, int] = {}
        for old, new in self.change.matches.pairs:
            if old.test.skip and old.test.is_conditional and not new.test.skip and old.path == new.path:
                found[new.path] = min(found.get(new.path, _MOST_FLAGS), _count_flags(old.test, new.test))
        return found


_MOST_FLAGS = 3


def _count_flags(old: TestFact, new: TestFact) -> int:
    """How many names went away with the condition, and were in no assertion."""
    if subtract(old.assertions, new.assertions, lambda each: each.text):
        return 0
    asserted = {word for each in old.assertions for word in each.words}
    gone = {word for word in old.words - new.words - asserted if _IS_NAME.match(word)}
    return len(gone) if gone & {*_NAME.findall(old.skip)} else 0


def _open(row: str) -> tuple[str, ...]:
    """A case without the bracket that ends it."""
    return tuple(split_row(row)[:-1])


def _list_endings(
    row: str, shorter: dict[tuple[str, ...], str], most: int
) -> Iterator[tuple[tuple[str, ...], list[str]]]:
    """The case of which a row is a longer form, and the plain values by which it is longer."""
    parts = _open(row)
    for count in range(1, most + 1):
        begin, rest = parts[: -2 * count], parts[-2 * count :]
        values, signs = rest[1::2], rest[::2]
        if begin in shorter and {*signs} == {","} and not any(map(_IS_SIGN.match, values)):
            yield begin, [*values]
