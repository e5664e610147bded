"""Finds tests whose own subject a change replaces by a mock, so that they check the mock."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from agents.review.avoidance.facts import PlaceFact, TestFact
from agents.review.avoidance.lines import MODULE
from agents.review.avoidance.pairing import PlacedTest, subtract
from agents.review.avoidance.pairs import ChangedFacts
from agents.review.avoidance.test_change import TestChange
from domain.paths import namesake
from domain.review.avoidance import Avoidance, AvoidanceKind

_COMMON = re.compile(
    r"(get|post|put|patch|delete|open|read|write|close|now|time|sleep|run|call|request|send|fetch|print|log|exists|"
    r"random|connect|execute|query|emit|save|load|main|exit|input)$",
    re.IGNORECASE,
)
"""Names that many things have: a test that calls one of them hardly means the one that is replaced."""


@dataclass(frozen=True)
class MockedSubjects:
    """Which tests call what they newly replace."""

    change: TestChange

    def find_mocked(self) -> Iterator[Avoidance]:
        for file in self.change.files:
            if file.is_gone or file.before is None:
                continue
            for place in subtract(file.new.mocks, file.old.mocks, lambda place: place.what):
                yield from self._judge(file, place)

    def _judge(self, file: ChangedFacts, place: PlaceFact) -> Iterator[Avoidance]:
        if place.what.startswith(MODULE):
            if place.text.lower() in {namesake(file.path)[0], PurePosixPath(file.path).name.partition(".")[0].lower()}:
                yield _describe(file.path, place, "the module that these tests are about", file.path)
            return
        found = None if _COMMON.match(place.text) else self._find_test(file, place)
        if found is not None:
            yield _describe(file.path, place, f"what `{found.test.short_name}` calls and checks", found.test.name)

    def _find_test(self, file: ChangedFacts, place: PlaceFact) -> PlacedTest | None:
        """The test that called the function before, and now calls or replaces it."""
        mine = [(old.test, new) for old, new in self.change.matches.pairs if new.path == file.path]
        inside = [(old, new) for old, new in mine if new.test.line <= place.line <= new.test.end]
        above = [(old, new) for old, new in mine if new.test.line > place.line][:1] if not inside else []
        near = [*inside, *above] if inside or _is_decorator(above, place) else mine
        return next((new for old, new in near if _is_subject(place.text, old, new.test)), None)


def _is_decorator(above: list[tuple[TestFact, PlacedTest]], place: PlaceFact) -> bool:
    """Whether a place is right above a test, so that it holds for this one only."""
    return bool(above) and above[0][1].test.line - place.line <= _NEAR


_NEAR = 3  # lines of decorators above a test


def _is_subject(name: str, old: TestFact, new: TestFact) -> bool:
    return name in old.calls and new.calls.count(name) >= old.calls.count(name)


def _describe(path: str, place: PlaceFact, subject: str, name: str) -> Avoidance:
    return Avoidance(
        kind=AvoidanceKind.assertion_weakened,
        path=path,
        line=place.line,
        what=f"`{place.text}` is replaced by a mock, and it is {subject}.",
        confidence=0.75,
        name=f"{name}: mock of {place.text}",
    )
