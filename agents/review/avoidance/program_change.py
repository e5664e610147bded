"""What is known of the program of a change: its files, what is new in them, and what the change's tests hold."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from agents.review.avoidance.facts import FunctionFact, PlaceFact
from agents.review.avoidance.pairs import ChangedFacts, is_removal_asked
from domain.review.avoidance import Avoidance, AvoidanceKind
from domain.review.findings import Severity


@dataclass(frozen=True)
class ProgramChange:
    """The program of a change.

    :param files: every changed file, those of tests included.
    :param asked: what people asked for.
    """

    files: Sequence[ChangedFacts]
    asked: str

    @cached_property
    def program(self) -> Sequence[ChangedFacts]:
        return [file for file in self.files if not file.is_test]

    @cached_property
    def new_functions(self) -> list[FunctionFact]:
        known = {(file.path, each.name) for file in self.program for each in file.old.functions}
        return [each for file in self.program for each in file.new.functions if (file.path, each.name) not in known]

    @cached_property
    def test_literals(self) -> frozenset[str]:
        """The literals of all tests that the change shows."""
        return frozenset(
            word.strip("\"'`")
            for file in self.files
            for facts in (file.old, file.new)
            if facts.is_test
            for words in (facts.literals, *(test.words for test in facts.tests))
            for word in words
        )

    def excuse_removal(self, *names: str) -> str:
        """Why something with one of these names may go; empty if nobody said so."""
        return "Its removal was asked for." if is_removal_asked(self.asked, *names) else ""


def describe_place(
    kind: AvoidanceKind, path: str, place: PlaceFact, confidence: float, severity: Severity
) -> Avoidance:
    """What is found at a place of the program."""
    shown = place.text.replace("`", "'")[:80]
    return Avoidance(
        kind=kind,
        path=path,
        line=place.line,
        what=f"Here {place.what}: `{shown}`.",
        confidence=confidence,
        severity=severity,
        name=place.text[:80],
    )
