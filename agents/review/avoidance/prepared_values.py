"""Tells whether what a test asked of values that were prepared for it is asked of the cases of a table now."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from agents.review.avoidance.facts import TestFact
from agents.review.avoidance.generated_tests import is_composed
from agents.review.avoidance.pairing import PlacedTest, subtract
from agents.review.avoidance.tables import split_row
from agents.review.avoidance.test_change import TestChange

_PREPARES = re.compile(r"(set_?up|setup_method|before_?each)$", re.IGNORECASE)
_CONSTANT = re.compile(r"[A-Z][A-Z0-9_]+$")
_BLANK = re.compile(r"%\w|\{\w*\}")
_LEAST_CONSTANTS = 2


@dataclass(frozen=True)
class PreparedValues:
    """The values that hooks of a file prepared, and the tables that hold what made them."""

    change: TestChange

    def holds(self, gone: PlacedTest) -> bool:
        """Whether a table has each constant that values were prepared by, and a test asks the same of all of them.

        It has as many truths and lies as the tests that it stands for asked for together.
        """
        for heir in self._list_heirs(gone):
            others = [each for each in self.change.matches.removed if heir in self._list_heirs(each)]
            words = [word for row in self._list_rows(heir) for word in split_row(row)]
            if all(_count_asked(others, answer) <= words.count(answer) for answer in ("True", "False")):
                return True
        return False

    def _list_heirs(self, gone: PlacedTest) -> list[TestFact]:
        prepared = self._hook_words.get(gone.path, frozenset[str]())
        constants = {word for word in prepared if _CONSTANT.match(word)}
        names = {word for each in gone.test.assertions for word in each.words if word not in each.literals}
        asked, values = names - prepared, {word for each in gone.test.assertions for word in each.literals}
        if not (names & prepared) or not asked or len(constants) < _LEAST_CONSTANTS:
            return []
        strictest = max(each.strength for each in gone.test.assertions)
        found: list[TestFact] = []
        for placed in self._tables:
            rows = self._list_rows(placed.test)
            if placed.path != gone.path or len(rows) < len(gone.test.assertions):
                continue
            checks = [each for each in placed.test.assertions if each.strength >= strictest and asked & {*each.words}]
            parts = {_bare(word) for row in rows for word in split_row(row)}
            parts |= {part for each in checks for word in each.literals for part in _BLANK.split(_bare(word)) if part}
            is_told = all(is_composed(_bare(value), frozenset(parts)) for value in values)
            if asked <= {word for each in checks for word in each.words} and constants <= parts and is_told:
                found.append(placed.test)
        return found

    @cached_property
    def _hook_words(self) -> dict[str, frozenset[str]]:
        """File → the words of its hooks."""
        return {
            file.path: frozenset[str]().union(
                *(each.words for each in file.old.functions if _PREPARES.match(each.short_name))
            )
            for file in self.change.files
        }

    @cached_property
    def _tables(self) -> list[PlacedTest]:
        fresh = [*self.change.matches.added, *(new for _, new in self.change.differences)]
        return [each for each in fresh if each.test.rows and each.test.is_collected and not each.test.skip]

    def _list_rows(self, heir: TestFact) -> Sequence[str]:
        before = next((old.test.rows for old, new in self.change.matches.pairs if new.test is heir), ())
        return subtract(heir.rows, before, str)


def _count_asked(gone: Sequence[PlacedTest], answer: str) -> int:
    return sum(f"assert{answer} " in each.text for test in gone for each in test.test.assertions)


def _bare(word: str) -> str:
    return word.strip("\"'`")


def list_filled(test: TestFact) -> Iterator[str]:
    """What the texts of a test with a blank are for each of its plain cases."""
    texts = [_bare(word) for word in test.words if word[:1] in "\"'" and _BLANK.search(word)]
    return (_BLANK.sub(lambda _, value=row: _bare(value), text) for text in texts for row in test.rows)


def holds_filled(change: TestChange, gone: PlacedTest) -> bool:
    """Whether cases have the texts that a loop made of its values, and a test asks as much of the same."""
    filled = [*list_filled(gone.test)]
    if not filled or not gone.test.assertions or any(" " in row for row in gone.test.rows):
        return False
    values = {_bare(word) for each in gone.test.assertions for word in each.literals}
    names = {_squash(word) for each in gone.test.assertions for word in each.words if word not in each.literals}
    strictest = max(each.strength for each in gone.test.assertions)
    for placed in change.matches.added:
        cases = [{_bare(word) for word in split_row(row)} for row in placed.test.rows]
        asked = {_squash(word) for each in placed.test.assertions if each.strength >= strictest for word in each.words}
        is_told = all(any({text, *values} <= case for case in cases) for text in filled)
        if placed.path == gone.path and not placed.test.skip and names <= asked and is_told:
            return True
    return False


def _squash(name: str) -> str:
    """A name as it is for both a class and a variable that holds one of its objects."""
    return name.replace("_", "").lower()
