"""Finds answers that a change makes for the inputs of tests, and code that asks whether a test runs it."""

from collections.abc import Iterator
from dataclasses import dataclass

from agents.review.avoidance.answers import IS_DATA
from agents.review.avoidance.facts import FunctionFact, PlaceFact
from agents.review.avoidance.lines import ASKS_FOR_CI
from agents.review.avoidance.pairing import subtract
from agents.review.avoidance.pairs import ChangedFacts
from agents.review.avoidance.program_change import ProgramChange, describe_place
from agents.review.avoidance.tables import split_row
from domain.review.avoidance import Avoidance, AvoidanceKind
from domain.review.findings import Severity

_LEAST_TESTED = 2
_LEAST_SURE = 0.5


@dataclass(frozen=True)
class MadeAnswers:
    """What the program answers to tests only."""

    change: ProgramChange

    def find_environment(self) -> Iterator[Avoidance]:
        for file in self.change.program:
            for place in subtract(file.new.environment, file.old.environment, lambda place: place.text):
                sure, severity = (0.6, Severity.warning) if place.what == ASKS_FOR_CI else (0.85, Severity.error)
                yield describe_place(AvoidanceKind.answer_hard_coded, file.path, place, sure, severity)

    def find_specials(self) -> Iterator[Avoidance]:
        """Inputs for which a function newly has an answer of its own."""
        for file in self.change.program:
            old = {each.name: each for each in file.old.functions}
            for each in file.new.functions:
                mine = old.get(each.name)
                for place in subtract(each.specials, mine.specials if mine else (), lambda place: place.text):
                    found = self._judge_special(file, each, place, is_new=mine is None)
                    if found.confidence >= _LEAST_SURE:
                        yield found

    def _judge_special(
        self, file: ChangedFacts, function: FunctionFact, place: PlaceFact, *, is_new: bool
    ) -> Avoidance:
        literals = {literal.strip("\"'`") for literal in place.text.split()}
        is_tested = bool(literals & self.change.test_literals)
        sure = 0.9 if is_tested and not is_new else 0.65 if is_tested or not is_new else 0.45
        known = "which a test uses" if is_tested else "for one input"
        return Avoidance(
            kind=AvoidanceKind.answer_hard_coded,
            path=file.path,
            line=place.line,
            what=f"In `{function.name}` {place.what}, {known}.",
            confidence=min(sure, 0.6) if place.what.startswith("a list") else sure,
            severity=Severity.error if is_tested else Severity.warning,
            name=function.name,
        )

    def find_tables(self) -> Iterator[Avoidance]:
        """New tables whose inputs are those of tests."""
        for file in self.change.program:
            known = {key for each in file.old.functions for place in each.answers for key in split_row(place.text)}
            for each in file.new.functions:
                for place in each.answers:
                    keys = [key.strip("\"'`") for key in split_row(place.text) if key not in known]
                    tested = [key for key in keys if len(key) > 1 and key in self.change.test_literals]
                    if len(tested) < _LEAST_TESTED or len(tested) < len(keys) / 2:
                        continue
                    is_data = sum(IS_DATA.search(key) is not None for key in tested) * 2 > len(tested)
                    yield Avoidance(
                        kind=AvoidanceKind.answer_hard_coded,
                        path=file.path,
                        line=place.line,
                        what=f"In `{each.name}` {place.what}, and tests use `{tested[0][:40]}`.",
                        confidence=0.75 if is_data else 0.6,
                        name=f"{each.name}: {tested[0][:40]}",
                    )
