"""Tells whether the cases of a test that is gone are made from a table now, be it by parts of them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile

from agents.review.avoidance.facts import AssertionFact, TestFact
from agents.review.avoidance.pairing import PlacedTest, subtract
from agents.review.avoidance.tables import split_row
from agents.review.avoidance.test_change import MOST_COMPARED, TestChange

_LONGEST = 60  # characters of a value that is put together from parts
_IS_NAME = re.compile(r"[A-Za-z_]\w{2,}$")
_LEAST_ROWS = 2


@dataclass(frozen=True)
class GeneratedTests:
    """The tests of a change that take their cases from a table."""

    change: TestChange

    def holds(self, gone: PlacedTest) -> bool:
        """Whether a table, and tests that go through it and ask as much, hold the values of a test that is gone.

        What it says in texts is in the table, as a whole or in parts of one case; half of its numbers may be
        missing, as what is expected may be computed.
        """
        literals = {word for each in gone.test.assertions for word in each.literals}
        texts = {word for word in literals if _bare(word) != word}
        if not literals or not any(_asks_as_much(gone.test, each) for each in self._list_makers(gone.path)):
            return False
        cases, beside = self._cases[gone.path], self._beside.get(gone.path, frozenset[str]())
        told = texts or literals
        numbers = literals - told
        is_told = all(any(is_composed(_bare(word), case) for case in cases) for word in told)
        return is_told and len(numbers & beside) * 2 >= len(numbers)

    def _list_makers(self, path: str) -> Iterator[TestFact]:
        """Tests of a file that are new or have new cases, where there is a table for them."""
        has_table = len(self._new_rows.get(path, [])) >= _LEAST_ROWS
        for each in self.change.matches.added[:MOST_COMPARED]:
            if each.path == path and (has_table or len(each.test.rows) >= _LEAST_ROWS):
                yield each.test
        for old, new in self.change.differences[:MOST_COMPARED]:
            if new.path == path and (has_table or len(new.test.rows) > len(old.test.rows)):
                yield new.test

    @cached_property
    def _new_rows(self) -> dict[str, list[str]]:
        return {file.path: subtract(file.new.rows, file.old.rows, str) for file in self.change.files}

    @cached_property
    def _cases(self) -> dict[str, list[frozenset[str]]]:
        """File → the parts of each new case, with the values that stand for themselves in its tables."""
        found: dict[str, list[frozenset[str]]] = {}
        for file in self.change.files:
            before = [row for test in file.old.tests for row in test.rows]
            rows = subtract([row for test in file.new.tests for row in test.rows], before, str)
            split = [[_bare(word) for word in split_row(row)] for row in (*rows, *self._new_rows[file.path])]
            plain = {words[0] for words in split if len(words) == 1}
            found[file.path] = [frozenset({*words, *plain} - {""}) for words in split[:MOST_COMPARED]]
        return found

    @cached_property
    def _beside(self) -> dict[str, frozenset[str]]:
        """File → the literals that it has, without quotes."""
        return {file.path: frozenset(map(_bare, file.new.literals)) for file in self.change.files}


def is_composed(value: str, parts: frozenset[str]) -> bool:
    """Whether a value is a row of parts, whatever their case."""
    text, known = value.lower(), {part.lower() for part in parts}
    if len(text) > _LONGEST:
        return False
    reached = {0}
    for end in range(1, len(text) + 1):
        if any(text[begin:end] in known for begin in reached):
            reached.add(end)
    return len(text) in reached


def _asks_as_much(gone: TestFact, test: TestFact) -> bool:
    """Whether a test asks the same subject, as strictly as one that is gone."""
    strictest = max((each.strength for each in gone.assertions), default=0)
    asked = {word for each in test.assertions if each.strength >= strictest for word in each.words}
    names = {word for each in gone.assertions for word in each.words if _IS_NAME.match(word)}
    subjects = {name for each in gone.assertions for name in _list_subjects(each)}
    return subjects <= asked and bool(names) and len(names & asked) * 2 >= len(names)


def _list_subjects(assertion: AssertionFact) -> Iterator[str]:
    """The names before the first value of an assertion."""
    return takewhile(lambda word: word not in assertion.literals and _IS_NAME.match(word), assertion.words)


def _bare(word: str) -> str:
    return word.strip("\"'`")
