"""Finds cases of tables that a change takes away, or that expect something else."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import zip_longest

from agents.review.avoidance.dropped_flags import DroppedFlags
from agents.review.avoidance.pairing import subtract
from agents.review.avoidance.pairs import is_removal_asked
from agents.review.avoidance.tables import split_row
from agents.review.avoidance.test_change import (
    MOST_COMPARED,
    TAKEN_OVER,
    TestChange,
    describe_expectation,
    show,
)
from domain.review.avoidance import Avoidance, AvoidanceKind

_ROW_ALIKE = 0.5
_TELLING = 5  # characters of a literal, quotes included
_BARE = re.compile(r"\W+")
_MAKES_CASES = re.compile(
    r"((array_)?(flat_?)?map|for_?each|each|collect|zip|product|combine|s?printf|format|(str_)?replace(_?all)?|g?sub)$",
    re.IGNORECASE,
)
"""What makes cases of others."""


@dataclass(frozen=True)
class TableCases:
    """The cases of the tests' tables and parameters."""

    change: TestChange

    def find_rows(self) -> Iterator[Avoidance]:
        """Cases of tables that are gone or expect something else."""
        gained = [row for old, new in self.change.matches.pairs for row in subtract(new.test.rows, old.test.rows, str)]
        gained += [row for each in self.change.matches.added for row in each.test.rows]
        gained += [row for file in self.change.files for row in subtract(file.new.rows, file.old.rows, str)]
        for old, new in self.change.matches.pairs:
            yield from self._compare_rows(new.path, new.test.line, new.test.name, old.test.rows, new.test.rows, gained)
        for file in self.change.files:
            if (file.is_test or file.new.tests) and not file.is_gone:
                yield from self._compare_rows(file.path, None, file.path, file.old.rows, file.new.rows, gained)

    def _compare_rows(
        self, path: str, line: int | None, name: str, before: Sequence[str], after: Sequence[str], gained: list[str]
    ) -> Iterator[Avoidance]:
        gone, heirs = self._flags.leave_out(path, subtract(before, after, str), gained)
        gained[:] = heirs
        lost = gone[:MOST_COMPARED]
        missing: list[str] = []
        is_shorter = _count_plain(after) < _count_plain(before)
        for row in lost:
            partner = max(gained[:MOST_COMPARED], key=lambda other: _compare_cases(row, other), default=None)
            if partner is None or _compare_cases(row, partner) < _ROW_ALIKE:
                is_other = _count_plain([row]) and not is_shorter  # one value for another
                if not is_other and not self._is_taken_over(row) and not self._is_kept(path, row):
                    missing.append(row)
                continue
            gained.remove(partner)
            if _is_value_change(row, partner):
                values = [new for old, new in zip_longest(split_row(row), split_row(partner)) if new and old != new]
                yield describe_expectation(self.change, path, line, name, row, partner, values)
        if missing:
            yield Avoidance(
                kind=AvoidanceKind.test_removed,
                path=path,
                line=line,
                what=f"{len(missing)} of its cases are gone, such as `{show(missing[0], 60)}`."
                if len(missing) > 1
                else f"A case is gone: `{show(missing[0], 80)}`.",
                confidence=0.8,
                name=name,
                excuse="Its removal was asked for."
                if is_removal_asked(self.change.asked, *split_row(missing[0]))
                else "",
            )

    @cached_property
    def _flags(self) -> DroppedFlags:
        return DroppedFlags(self.change)

    def _is_kept(self, path: str, row: str) -> bool:
        """Whether all that a case says is still in the file, in another form."""
        after = next((file.new.literals for file in self.change.files if file.path == path), frozenset[str]())
        telling = [word for word in split_row(row) if len(word) > _TELLING]
        return bool(telling) and all(word in after for word in telling)

    def _is_taken_over(self, row: str) -> bool:
        words = [word for word in split_row(row) if len(word) > 1]
        if words and sum(self.change.new_words[word] > 0 for word in words) / len(words) >= TAKEN_OVER:
            return True
        bare = {plain for word in words if (plain := _BARE.sub("", word))}
        return bool(bare) and any(bare <= each for each in self._rows_in_words)

    @cached_property
    def _rows_in_words(self) -> list[set[str]]:
        """The words of each case that is there after the change, without signs, if tests newly make some of others."""
        rows = [
            row
            for each in (*(new for _, new in self.change.differences), *self.change.matches.added)
            for row in each.test.rows
        ]
        rows += [row for file in self.change.files for row in file.new.rows]
        are_made = any(_MAKES_CASES.match(word) for word in self.change.new_words)
        return [{_BARE.sub("", word) for word in split_row(row)} for row in rows] if are_made else []


@lru_cache(maxsize=4_096)
def _count_words(row: str) -> Counter[str]:
    return Counter(split_row(row))


def _count_plain(rows: Sequence[str]) -> int:
    """How many cases are one value each."""
    return sum(" " not in row for row in rows)


def _compare_cases(one: str, other: str) -> float:
    """How much two cases seem to be the same; more than 1 if they have the same input."""
    first, second = split_row(one)[:2], split_row(other)[:2]
    is_same_input = first == second and len(first) > 1 and len(first[1]) > _TELLING
    return _share_words(one, other) + is_same_input


def _share_words(one: str, other: str) -> float:
    first, second = _count_words(one), _count_words(other)
    union = (first | second).total()
    return (first & second).total() / union if union else 0.0


def _is_value_change(before: str, after: str) -> bool:
    """Whether two rows begin alike and end otherwise."""
    first, second = split_row(before), split_row(after)
    return first != second and first[:2] == second[:2]
