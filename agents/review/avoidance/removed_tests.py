"""Finds tests that a change takes away, or calls so that no runner finds them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from agents.review.avoidance.facts import FunctionFact
from agents.review.avoidance.generated_tests import GeneratedTests
from agents.review.avoidance.handed_values import HandedValues
from agents.review.avoidance.pairing import PlacedTest, share, subtract
from agents.review.avoidance.pairs import ChangedFacts, is_removal_asked
from agents.review.avoidance.prepared_values import PreparedValues, holds_filled
from agents.review.avoidance.tables import split_row
from agents.review.avoidance.test_change import (
    ALIKE,
    MOST_COMPARED,
    TAKEN_OVER,
    TestChange,
)
from domain.paths import holds_tests
from domain.review.avoidance import WHOLE_FILE, Avoidance, AvoidanceKind

_SHORTEST = 2
_IS_NAME = re.compile(r"[A-Za-z_]\w*$")


@dataclass(frozen=True)
class RemovedTests:
    """Which tests are gone, and why some may be."""

    change: TestChange

    @cached_property
    def survivors(self) -> frozenset[tuple[int, int]]:
        return frozenset((new.test.signature, len(new.test.assertions)) for _, new in self.change.matches.pairs)

    def find_removed(self) -> Iterator[Avoidance]:
        uncollected = {id(each) for each, _, _ in self._strays}
        for file in self.change.files:
            mine = [
                each for each in self.change.matches.removed if each.path == file.path and id(each) not in uncollected
            ]
            if file.is_gone and mine:
                excuses = [self._excuse(each) for each in mine]
                left = [each for each, excuse in zip(mine, excuses, strict=True) if not excuse]
                gone = left or mine
                count = "1 test" if len(gone) == 1 else f"{len(gone)} tests"
                names = ", ".join(f"`{each.test.short_name}`" for each in gone[:3])
                yield Avoidance(
                    kind=AvoidanceKind.test_removed,
                    path=file.path,
                    what=f"{WHOLE_FILE}{count} in it: {names}.",
                    confidence=0.9,
                    name=file.path,
                    excuse="" if left else excuses[0],
                )
                continue
            for each in mine:
                yield Avoidance(
                    kind=AvoidanceKind.test_removed,
                    path=file.path,
                    line=self._find_line(file, each),
                    what=f"The test `{each.test.short_name}` is gone.",
                    confidence=0.9,
                    name=each.test.name,
                    excuse=self._excuse(each),
                )

    def _find_line(self, file: ChangedFacts, gone: PlacedTest) -> int | None:
        """The test that follows now where this one was."""
        if file.is_gone:
            return None
        after = [
            old.test.line
            for old, new in self.change.matches.pairs
            if new.path == file.path and old.test.line > gone.test.line
        ]
        following = min(after, default=None)
        place = next(
            (
                new.test.line
                for old, new in self.change.matches.pairs
                if old.test.line == following and new.path == file.path
            ),
            None,
        )
        return place or next((new.test.line for _, new in self.change.matches.pairs if new.path == file.path), None)

    def _excuse(self, gone: PlacedTest) -> str:
        test = gone.test
        if (test.signature, len(test.assertions)) in self.survivors or self._has_twin(gone):
            return "An equal test stays."
        if not test.assertions and not test.rows and len(test.words) < 3:
            return "It checked nothing."
        told = {word for each in test.assertions for word in each.literals} or {
            word for each in test.assertions for word in each.words
        }
        told |= {word for row in test.rows for word in split_row(row) if len(word) > _SHORTEST}
        telling = {word for word in told if len(word.strip("\"'`")) > 0}
        taken = [word for word in telling if self.change.new_words[word] > 0 or self._is_in_text(word)]
        if telling and len(taken) / len(telling) >= TAKEN_OVER and self._shares_names(test.words):
            return "Other tests check the same now."
        if self._is_merged(gone):
            return "Another test checks the same now."
        if self._is_variant(gone) or GeneratedTests(self.change).holds(gone):
            return "A table holds its cases now."
        if self._tables_of_hooks.holds(gone) or holds_filled(self.change, gone):
            return "A table holds what it was prepared with now."
        if self._helper_values.holds(gone):
            return "Another test hands the same values to what checks them."
        if is_removal_asked(self.change.asked, test.short_name, *(test.words & self.change.former_functions)):
            return "Its removal was asked for."
        return ""

    @cached_property
    def _tables_of_hooks(self) -> PreparedValues:
        return PreparedValues(self.change)

    @cached_property
    def _helper_values(self) -> HandedValues:
        return HandedValues(self.change)

    def _is_variant(self, gone: PlacedTest) -> bool:
        """Whether another test asserted the same, and now has cases for what this one did in another way."""
        checked = [each.text for each in gone.test.assertions]
        for old, new in self.change.differences[:MOST_COMPARED]:
            own = gone.test.words - old.test.words
            if own and checked and old.path == gone.path and checked == [each.text for each in old.test.assertions]:
                rows = subtract(new.test.rows, old.test.rows, str)
                if len(rows) > 1 and own <= {word for row in rows for word in split_row(row)}:
                    return True
        return False

    def _has_twin(self, gone: PlacedTest) -> bool:
        """Whether another test of the same name in the same file asserts the same."""
        words = _list_said(gone)
        return any(
            new.path == gone.path and new.test.name == gone.test.name and share(words, _list_said(new)) >= ALIKE
            for _, new in self.change.matches.pairs
        )

    def _is_merged(self, gone: PlacedTest) -> bool:
        """Whether a test that changed holds what only this one held before."""
        words = gone.test.words
        near = [(old, new) for old, new in self.change.differences if new.path == gone.path]
        others = [*near, *((None, each) for each in self.change.matches.added), *self.change.differences]
        for before, after in others[:MOST_COMPARED]:
            own = words - (before.test.words if before else frozenset[str]())
            there = {word for word in after.test.words if _IS_NAME.match(word)}  # literals count where they are checked
            there |= {word for assertion in after.test.assertions for word in assertion.words}
            there |= {word for row in after.test.rows for word in split_row(row)}
            there |= self.change.row_words.get(after.path, set())
            has_grown = before is not None and (
                len(after.test.assertions) > len(before.test.assertions) or len(after.test.rows) > len(before.test.rows)
            )
            if own and len(own & there) / len(own) >= TAKEN_OVER and len(words & there) / len(words) >= TAKEN_OVER:
                return True
            if not own and words and has_grown:
                return True
        return False

    def _is_in_text(self, word: str) -> bool:
        bare = word.strip("\"'`")
        return len(bare) > 2 and any(bare in gained for gained in self.change.new_words)

    def _shares_names(self, words: frozenset[str]) -> bool:
        names = {word for word in words if re.match(r"^[A-Za-z_]\w{2,}$", word)}
        return not names or any(self.change.new_words[name] > 0 for name in names) or self._is_in_rows(names)

    def _is_in_rows(self, names: set[str]) -> bool:
        return any(names & new.test.words and new.test.rows != old.test.rows for old, new in self.change.matches.pairs)

    @cached_property
    def _strays(self) -> list[tuple[PlacedTest, ChangedFacts, FunctionFact]]:
        found: list[tuple[PlacedTest, ChangedFacts, FunctionFact]] = []
        called = frozenset[str]().union(
            *(new.test.words for _, new in self.change.matches.pairs),
            *(e.test.words for e in self.change.matches.added),
        )
        for each in self.change.matches.removed:
            for file in self.change.files:
                if file.path != each.path:
                    continue
                known = {function.name for function in file.old.functions}
                twin = next(
                    (
                        function
                        for function in file.new.functions
                        if function.name not in known
                        and function.short_name not in called
                        and share(function.words, each.test.words) >= ALIKE
                        and function.assertions
                    ),
                    None,
                )
                if twin is not None:
                    found.append((each, file, twin))
        return found

    def find_uncollected(self) -> Iterator[Avoidance]:
        """Tests that are there and no runner finds."""
        for old, new in self.change.matches.pairs:
            if old.test.is_collected and not new.test.is_collected:
                yield Avoidance(
                    kind=AvoidanceKind.test_deselected,
                    path=new.path,
                    line=new.test.line,
                    what=f"No runner finds `{new.test.short_name}` now: it is private, or its class is none of tests.",
                    confidence=0.85,
                    name=new.test.name,
                )
        for file in self.change.files:
            was_found = file.old.is_test and holds_tests(file.before_path or file.path)
            if not file.is_gone and file.old.tests and was_found and not holds_tests(file.path):
                yield Avoidance(
                    kind=AvoidanceKind.test_deselected,
                    path=file.path,
                    what=f"`{file.before_path}` lies here now, under a name that no runner looks for.",
                    confidence=0.9,
                    name=file.path,
                )
        for each, file, twin in self._strays:
            name = each.test.short_name
            what = f"The test `{name}` is called `{twin.short_name}` now, so no runner finds it."
            yield Avoidance(
                kind=AvoidanceKind.test_deselected,
                path=file.path,
                line=twin.line,
                what=what,
                confidence=0.9,
                name=each.test.name,
            )


def _list_said(test: PlacedTest) -> frozenset[str]:
    """The words of a test's assertions, whatever their case."""
    return frozenset(word.lower() for each in test.test.assertions for word in each.words)
