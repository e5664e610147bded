"""Finds code that is there and does less than it did: errors that it drops, stubs, functions with one answer."""

from collections.abc import Iterator
from dataclasses import dataclass

from agents.review.avoidance.answers import LOOKUP
from agents.review.avoidance.pairing import share, subtract
from agents.review.avoidance.program_change import ProgramChange, describe_place
from agents.review.avoidance.swallowed_errors import FALLBACK, SILENT
from domain.review.avoidance import Avoidance, AvoidanceKind
from domain.review.findings import Severity

_ABSTRACT = ("Base", "Abstract", "Interface", "Protocol", "ABC", "Mixin")
_NOTHING_DONE = frozenset({"pass", "...", ". . .", "nothing"})
"""Bodies that are right in what others override or may leave out."""
_NEAR = 3  # lines between a function that does nothing and what its body says of that
_SMALL, _LARGE = 20, 30
"""Names, literals and signs of a body that does little, and of one that does much."""
_MOVED = 0.5
_MOST = 300
"""New functions with which one that is emptied is compared."""


@dataclass(frozen=True)
class HollowCode:
    """What the program of a change does no longer, although its functions stay."""

    change: ProgramChange

    def find_swallowed(self) -> Iterator[Avoidance]:
        """Errors that are newly dropped."""
        known = {place.text for file in self.change.files for each in file.old.functions for place in each.swallows}
        for file in self.change.files:
            old = {each.name: each for each in file.old.functions}
            for each in file.new.functions:
                mine = old.get(each.name)
                fresh = [place for place in each.swallows if place.text not in known]
                if mine is not None and len(each.swallows) <= len(mine.swallows):
                    continue
                for place in fresh:
                    yield Avoidance(
                        kind=AvoidanceKind.error_swallowed,
                        path=file.path,
                        line=place.line,
                        what=f"In `{each.name}` {place.what}.",
                        confidence=0.5 if place.what in {FALLBACK, SILENT} else 0.8 if mine is not None else 0.6,
                        name=f"{each.name}: {place.text[:60]}",
                    )

    def find_stubs(self) -> Iterator[Avoidance]:
        """Functions that leave their work out, but for new ones that others may override."""
        for file in self.change.program:
            old = {each.name: each for each in file.old.functions}
            for each in file.new.functions:
                mine = old.get(each.name)
                if not each.stub or (mine is not None and mine.stub) or each.is_class:
                    continue
                owner = each.name.rpartition(".")[0]
                is_hook = each.stub in _NOTHING_DONE or any(mark in owner for mark in _ABSTRACT)
                if mine is None and is_hook:
                    continue
                yield Avoidance(
                    kind=AvoidanceKind.work_left_out,
                    path=file.path,
                    line=each.line,
                    what=f"`{each.name}` does nothing: `{each.stub.replace('`', '')}`.",
                    confidence=0.9 if mine is not None else 0.75,
                    name=each.name,
                )

    def find_left_out(self) -> Iterator[Avoidance]:
        """Comments and errors that leave work for later, but for those of a function that does nothing."""
        lost = {place.text for file in self.change.files for place in file.old.left_out}
        told = {(each.path, each.line or 0) for each in self.find_stubs()}
        for file in self.change.program:
            for place in subtract(file.new.left_out, file.old.left_out, lambda place: place.text):
                near = any(path == file.path and abs(line - place.line) <= _NEAR for path, line in told)
                if place.text not in lost and not near:
                    sure = 0.55 if place.what.startswith("a note") else 0.7
                    yield describe_place(AvoidanceKind.work_left_out, file.path, place, sure, Severity.warning)

    def find_emptied(self) -> Iterator[Avoidance]:
        """Functions that did something, and have one answer for everything now, or ask a table."""
        for file in self.change.program:
            old = {each.name: each for each in file.old.functions}
            for each in file.new.functions:
                mine = old.get(each.name)
                if mine is None or each.stub or not each.answer or mine.answer or mine.size < _SMALL:
                    continue
                if any(share(new.words, mine.words) >= _MOVED for new in self.change.new_functions[:_MOST]):
                    continue
                is_lookup = each.answer == LOOKUP
                shown = (
                    "only looks its answer up now" if is_lookup else f"answers `{each.answer[:60]}` to everything now"
                )
                yield Avoidance(
                    kind=AvoidanceKind.answer_hard_coded if is_lookup else AvoidanceKind.work_left_out,
                    path=file.path,
                    line=each.line,
                    what=f"`{each.name}` {shown.replace('``', '`nothing`')}.",
                    confidence=0.6 if is_lookup or mine.size < _LARGE else 0.75,
                    name=f"{each.name}: one answer",
                    excuse=self.change.excuse_removal(each.name, each.short_name),
                )
