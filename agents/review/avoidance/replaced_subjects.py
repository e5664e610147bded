"""Finds hooks by which all tests get something else in place of the program that they are about."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from agents.review.avoidance.facts import ReplacementFact
from agents.review.avoidance.hooks import is_outside, list_origins
from agents.review.avoidance.pairing import subtract
from agents.review.avoidance.pairs import ChangedFacts
from agents.review.avoidance.repository_context import RepositoryContext
from agents.review.avoidance.test_change import TestChange
from domain.review.avoidance import Avoidance, AvoidanceKind


@dataclass(frozen=True)
class ReplacedSubjects:
    """What new hooks replace.

    :param around: what the repository says of its tests besides.
    """

    change: TestChange
    around: RepositoryContext

    def find_replaced(self) -> Iterator[Avoidance]:
        known = {each.target for file in self.change.files for each in file.old.replaced}
        for file in self.change.files:
            for each in subtract(file.new.replaced, file.old.replaced, lambda place: place.target):
                confidence = 0.0 if each.target in known or each.name in self._new_names else self._judge(each)
                if confidence:
                    yield _describe(file, each, confidence)

    def _judge(self, place: ReplacementFact) -> float:
        """How sure it is that the program itself is replaced."""
        if is_outside(place.target):
            return 0.0
        if place.origin in list_origins(self.around.packages):
            return 0.8
        is_foreign = place.origin in sys.stdlib_module_names or self.around.is_known
        return 0.0 if is_foreign else 0.6

    @cached_property
    def _new_names(self) -> frozenset[str]:
        """The last names of functions that the change adds to the program."""
        files = [file for file in self.change.files if not file.is_test]
        before = {each.short_name for file in files for each in file.old.functions}
        return frozenset(each.short_name for file in files for each in file.new.functions) - before


def _describe(file: ChangedFacts, place: ReplacementFact, confidence: float) -> Avoidance:
    return Avoidance(
        kind=AvoidanceKind.test_removed,
        path=file.path,
        line=place.line,
        what=f"No test checks `{place.name}` any more: a hook puts something else in its place for all of them.",
        confidence=confidence,
        name=f"hook: {place.target}",
    )
