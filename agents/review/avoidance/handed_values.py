"""Tells whether the values that a test handed to a helper are handed to one that checks as much, in another test."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from agents.review.avoidance.facts import AssertionFact, FunctionFact, SourceFacts, Strength
from agents.review.avoidance.pairing import PlacedTest
from agents.review.avoidance.test_change import MOST_COMPARED, TestChange

_LEAST_VALUES = 2


@dataclass(frozen=True)
class HandedValues:
    """The tests of a change that check by helpers only."""

    change: TestChange

    def holds(self, gone: PlacedTest) -> bool:
        """Whether another test hands on all values of one that is gone, and its helpers ask the same subject."""
        values = {word for word in gone.test.words if word[:1] in "\"'`" or word[:1].isdigit()}
        if gone.test.assertions or len(values) < _LEAST_VALUES:
            return False
        asked = [*_list_checks(_reach(gone.test.words, self._before.get(gone.path, {})))]
        subjects = {check.words[0] for check in asked if check.words}
        strictest = max((check.strength for check in asked), default=Strength.vacuous)
        return bool(subjects) and any(
            values <= each.test.words
            and {*each.test.needs} <= {*gone.test.needs}
            and (each.path == gone.path or each.path in self._of_tests)
            and self._asks(each, subjects, strictest)
            for each in self._heirs
        )

    def _asks(self, heir: PlacedTest, subjects: set[str], strictest: Strength) -> bool:
        reached = _reach(heir.test.words, self._after.get(heir.path, {}))
        named = heir.test.words.union(*(each.words for each in reached))
        return subjects <= named and any(check.strength >= strictest for check in _list_checks(reached))

    @cached_property
    def _heirs(self) -> list[PlacedTest]:
        """Tests that run, and are new or changed."""
        there = [*self.change.matches.added, *(new for _, new in self.change.differences)]
        return [
            each
            for each in there[:MOST_COMPARED]
            if each.test.is_collected and not (each.test.skip or each.test.inverted or each.test.shadowed_by)
        ]

    @cached_property
    def _of_tests(self) -> frozenset[str]:
        return frozenset(file.path for file in self.change.files if file.is_test)

    @cached_property
    def _before(self) -> dict[str, dict[str, FunctionFact]]:
        return {file.path: _list_functions(file.old) for file in self.change.files}

    @cached_property
    def _after(self) -> dict[str, dict[str, FunctionFact]]:
        return {file.path: _list_functions(file.new) for file in self.change.files}


def _list_functions(side: SourceFacts) -> dict[str, FunctionFact]:
    return {each.short_name: each for each in side.functions if not each.is_class}


def _reach(words: Iterable[str], functions: Mapping[str, FunctionFact]) -> list[FunctionFact]:
    """The functions of a file that are named by these words, and by those functions in turn."""
    waiting, found = [*words], dict[str, FunctionFact]()
    while waiting:
        name = waiting.pop()
        if name in functions and name not in found:
            found[name] = functions[name]
            waiting += functions[name].words
    return [*found.values()]


def _list_checks(functions: Iterable[FunctionFact]) -> Iterator[AssertionFact]:
    return (check for each in functions for check in each.checks if check.strength > Strength.vacuous)
