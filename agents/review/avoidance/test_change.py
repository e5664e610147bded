"""What is known of the tests of a change, before and after: which is which, and what they newly say."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from agents.review.avoidance.facts import AssertionFact, FunctionFact, TestFact
from agents.review.avoidance.pairing import PairedTests, PlacedTest, pair_tests, subtract
from agents.review.avoidance.pairs import ChangedFacts, is_mentioned
from agents.review.avoidance.tables import split_row
from domain.paths import is_source
from domain.review.avoidance import Avoidance, AvoidanceKind

ALIKE = 0.6
"""The share of their words that two tests, or assertions, have in common that are the same in other words."""
TAKEN_OVER = 0.75
"""The share of what only one test held that others must have taken over."""
MOST_COMPARED = 100
"""Cases, or tests that changed, with which one is compared; a change of more is looked at less closely."""


@dataclass(frozen=True)
class TestChange:
    """The tests of a change.

    :param files: every changed file.
    :param asked: what people asked for.
    """

    files: Sequence[ChangedFacts]
    asked: str

    @cached_property
    def matches(self) -> PairedTests:
        before = [PlacedTest(file.path, test) for file in self.files for test in file.old.tests if not test.shadowed_by]
        after = [PlacedTest(file.path, test) for file in self.files for test in file.new.tests]
        return pair_tests(before, after)

    @cached_property
    def differences(self) -> list[tuple[PlacedTest, PlacedTest]]:
        return [(old, new) for old, new in self.matches.pairs if old.test.signature != new.test.signature]

    @cached_property
    def new_words(self) -> Counter[str]:
        """The names and literals that the tests of the change did not hold before."""
        gained = Counter[str]()
        for each in self.matches.added:
            gained.update(word for assertion in each.test.assertions for word in assertion.words)
            gained.update(word for row in each.test.rows for word in split_row(row))
        for old, new in self.matches.pairs:
            before = {word for assertion in old.test.assertions for word in assertion.words}
            gained.update({word for assertion in new.test.assertions for word in assertion.words} - before)
            gained.update(word for row in subtract(new.test.rows, old.test.rows, str) for word in split_row(row))
        for file in self.files:
            gained.update(word for row in subtract(file.new.rows, file.old.rows, str) for word in split_row(row))
        return gained

    @cached_property
    def former_functions(self) -> frozenset[str]:
        """The last names of functions of the program that the change takes away."""
        before = {each.name for file in self.files if not file.is_test for each in file.old.functions}
        after = {each.name for file in self.files if not file.is_test for each in file.new.functions}
        return frozenset(name.rpartition(".")[2] for name in before - after)

    @cached_property
    def changes_program(self) -> bool:
        return any(not file.is_test and is_source(file.path) for file in self.files)

    @cached_property
    def helpers(self) -> dict[str, FunctionFact]:
        """Functions of the test files that check something, by their last names."""
        return {
            each.short_name: each
            for file in self.files
            if file.is_test
            for each in file.new.functions
            if each.assertions
        }

    def count_helped(self, old: TestFact, new: TestFact) -> int:
        """How many assertions a test has by the helpers that it newly calls."""
        before, after = Counter(old.calls), Counter(new.calls)
        return sum(
            (after[name] - before[name]) * helper.assertions
            for name, helper in self.helpers.items()
            if after[name] > before[name]
        )

    @cached_property
    def assertion_helpers(self) -> frozenset[str]:
        return frozenset(
            each.short_name for file in self.files if file.new.tests for each in file.new.functions if each.assertions
        )

    @cached_property
    def new_assertions(self) -> list[AssertionFact]:
        """What the tests of the change assert and did not before."""
        added = [each for test in self.matches.added for each in test.test.assertions]
        changed = [
            each
            for old, new in self.differences
            for each in subtract(new.test.assertions, old.test.assertions, lambda assertion: assertion.text)
        ]
        return [*added, *changed][: MOST_COMPARED * 10]

    @cached_property
    def row_words(self) -> dict[str, set[str]]:
        """The words of new cases in tables outside of tests, by file."""
        return {
            file.path: {word for row in subtract(file.new.rows, file.old.rows, str) for word in split_row(row)}
            for file in self.files
        }


def describe_expectation(
    change: TestChange, path: str, line: int | None, name: str, before: str, after: str, values: Sequence[str]
) -> Avoidance:
    asked = bool(change.asked) and is_mentioned(change.asked, values)
    return Avoidance(
        kind=AvoidanceKind.expectation_changed,
        path=path,
        line=line,
        what=f"An expectation changed: `{show(before, 70)}` became `{show(after, 70)}`.",
        confidence=0.55 if change.changes_program else 0.75,
        name=name,
        excuse="The new value was asked for." if asked else "",
    )


def show(text: str, longest: int) -> str:
    return " ".join(split_row(text))[:longest].replace("`", "'")
