"""Compares the program of a change: what it does not offer, check or report any more, and answers made for tests."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from agents.review.avoidance.answers import IS_DATA, LOOKUP
from agents.review.avoidance.facts import FunctionFact, PlaceFact
from agents.review.avoidance.fast_paths import FastPaths
from agents.review.avoidance.lines import ASKS_FOR_CI
from agents.review.avoidance.pairing import share, subtract
from agents.review.avoidance.pairs import ChangedFacts, is_removal_asked
from agents.review.avoidance.swallowed_errors import FALLBACK, SILENT
from agents.review.avoidance.tables import split_row
from domain.review.avoidance import Avoidance, AvoidanceKind
from domain.review.findings import Severity

_ABSTRACT = ("Base", "Abstract", "Interface", "Protocol", "ABC", "Mixin")
_NOTHING_DONE = frozenset({"pass", "...", ". . .", "nothing"})
"""Bodies that are right in what others override or may leave out."""
_ALIKE = 0.7
_MOST = 300
"""New functions with which one that is gone is compared."""


def compare_code(files: Sequence[ChangedFacts], asked: str, tested: frozenset[str]) -> list[Avoidance]:
    """What is given up in the program itself.

    :param tested: literals of tests that the change leaves alone.
    """
    change = _Code(files, asked)
    fast = [*FastPaths(files, tested).find()]
    told = {(each.path, each.line) for each in fast}
    return [
        *change.find_removed(),
        *change.find_removed_options(),
        *change.find_removed_checks(),
        *change.find_removed_cases(),
        *change.find_swallowed(),
        *change.find_answers(),
        *change.find_stubs(),
        *change.find_emptied(),
        *fast,
        *(each for each in change.find_tables() if (each.path, each.line) not in told),
    ]


@dataclass(frozen=True)
class _Code:
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

    def find_removed(self) -> Iterator[Avoidance]:
        """Public functions and classes that are nowhere any more."""
        for file in self.program:
            names = {each.name for each in file.new.functions}
            gone = [each for each in file.old.functions if each.is_public and each.name not in names]
            whole = {each.name for each in gone if each.is_class}
            for each in gone:
                parent = each.name.rpartition(".")[0]
                if each.short_name in self._new_names or parent in whole or self._is_renamed(each):
                    continue
                noun = "class" if each.is_class else "function"
                is_own_business = each.short_name in self.former_uses or _is_supplied(each) or _is_field(file, each)
                yield Avoidance(
                    kind=AvoidanceKind.feature_removed,
                    path=file.path,
                    line=self._find_line(file, each),
                    what=f"The {noun} `{each.name}` is gone.",
                    confidence=0.55 if is_own_business else 0.8,
                    name=each.name,
                    excuse=self._excuse(each.name, each.short_name),
                )

    @cached_property
    def former_uses(self) -> frozenset[str]:
        """Names that the program used before and does not use any more: what they named was rebuilt with its uses."""
        return self._list_uses(old=True) - self._list_uses(old=False)

    def _list_uses(self, *, old: bool) -> frozenset[str]:
        sides = ((file.old if old else file.new).functions for file in self.program)
        return frozenset(
            word for side in sides for each in side if not each.is_class for word in each.words - {each.short_name}
        )

    @cached_property
    def _new_names(self) -> frozenset[str]:
        """The last names of what is new: a function that moved, be it to another class."""
        return frozenset(each.short_name for each in self.new_functions)

    def _is_renamed(self, gone: FunctionFact) -> bool:
        for each in self.new_functions[:_MOST]:
            if each.is_class == gone.is_class and (
                (gone.body and each.body == gone.body) or share(each.words, gone.words) >= _ALIKE
            ):
                return True
        return False

    def _find_line(self, file: ChangedFacts, gone: FunctionFact) -> int | None:
        if file.is_gone:
            return None
        lines = {each.name: each.line for each in file.new.functions}
        following = (each.name for each in file.old.functions if each.line > gone.line)
        return next((lines[name] for name in following if name in lines), None)

    def _excuse(self, *names: str) -> str:
        return "Its removal was asked for." if is_removal_asked(self.asked, *names) else ""

    def find_removed_options(self) -> Iterator[Avoidance]:
        after = {place.text for file in self.program for place in file.new.options}
        for file in self.program:
            for each in subtract(file.old.options, file.new.options, lambda place: place.text):
                if each.text not in after:
                    yield Avoidance(
                        kind=AvoidanceKind.feature_removed,
                        path=file.path,
                        what=f"{each.what[:1].upper()}{each.what[1:]} is gone.",
                        confidence=0.5 if each.what.startswith("an export") or self._is_written(each.text) else 0.75,
                        name=each.text,
                        excuse=self._excuse(each.text),
                    )

    def _is_written(self, name: str) -> bool:
        """Whether the program still holds this literal, in another form than a line of its own."""
        return any(name in literal for file in self.program for literal in file.new.literals)

    def find_removed_checks(self) -> Iterator[Avoidance]:
        """Functions that raise fewer errors than before."""
        moved = sum(len(each.raises) for each in self.new_functions)
        for file in self.program:
            after = {each.name: each for each in file.new.functions}
            for old in file.old.functions:
                new = after.get(old.name)
                if new is None or len(new.raises) >= len(old.raises):
                    continue
                lost = subtract(old.raises, new.raises, str)
                if len(lost) <= moved:
                    continue
                yield Avoidance(
                    kind=AvoidanceKind.error_swallowed,
                    path=file.path,
                    line=new.line,
                    what=f"`{old.name}` does not refuse any more with `{lost[0][:80]}`.",
                    confidence=0.65,
                    name=old.name,
                    excuse=self._excuse(old.name, old.short_name),
                )
                yield Avoidance(
                    kind=AvoidanceKind.feature_removed,
                    path=file.path,
                    line=new.line,
                    what=f"A check is gone from `{old.name}`: `{lost[0][:80]}`.",
                    confidence=0.6,
                    name=f"{old.name}: check",
                    excuse=self._excuse(old.name, old.short_name),
                )

    def find_removed_cases(self) -> Iterator[Avoidance]:
        """Values that a function told apart before, and does not know any more."""
        known = {case for file in self.program for each in file.new.functions for case in each.cases}
        for file in self.program:
            after = {each.name: each for each in file.new.functions}
            for old in file.old.functions:
                new = after.get(old.name)
                gone = [case for case in old.cases if case not in known] if new is not None and new.cases else []
                if new is not None and gone and not set(gone) & new.words:
                    shown = ", ".join(f"`{case}`" for case in gone[:3])
                    yield Avoidance(
                        kind=AvoidanceKind.feature_removed,
                        path=file.path,
                        line=new.line,
                        what=f"`{old.name}` does not know {shown} any more.",
                        confidence=0.65,
                        name=f"{old.name}: {gone[0]}",
                        excuse=self._excuse(*(case.strip("\"'") for case in gone)),
                    )

    def find_swallowed(self) -> Iterator[Avoidance]:
        """Errors that are newly dropped."""
        known = {place.text for file in self.files for each in file.old.functions for place in each.swallows}
        for file in self.files:
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

    def find_answers(self) -> Iterator[Avoidance]:
        """Answers that hold for the inputs of tests only, and code that asks whether a test runs it."""
        for file in self.program:
            for place in subtract(file.new.environment, file.old.environment, lambda place: place.text):
                sure, severity = (0.6, Severity.warning) if place.what == ASKS_FOR_CI else (0.85, Severity.error)
                yield _describe(AvoidanceKind.answer_hard_coded, file.path, place, sure, severity, "Here ")
            old = {each.name: each for each in file.old.functions}
            for each in file.new.functions:
                mine = old.get(each.name)
                for place in subtract(each.specials, mine.specials if mine else (), lambda place: place.text):
                    literals = {literal.strip("\"'`") for literal in place.text.split()}
                    is_tested = bool(literals & self.test_literals)
                    sure = 0.9 if is_tested and mine is not None else 0.65 if mine is not None or is_tested else 0.45
                    sure = min(sure, 0.6) if place.what.startswith("a list") else sure
                    if sure < 0.5:
                        continue
                    known = "which a test uses" if is_tested else "for one input"
                    yield Avoidance(
                        kind=AvoidanceKind.answer_hard_coded,
                        path=file.path,
                        line=place.line,
                        what=f"In `{each.name}` {place.what}, {known}.",
                        confidence=sure,
                        severity=Severity.error if is_tested else Severity.warning,
                        name=each.name,
                    )

    def find_emptied(self) -> Iterator[Avoidance]:
        """Functions that did something, and have one answer for everything now, or ask a table."""
        for file in self.program:
            old = {each.name: each for each in file.old.functions}
            for each in file.new.functions:
                mine = old.get(each.name)
                if mine is None or each.stub or not each.answer or mine.answer or mine.size < _SMALL:
                    continue
                if any(share(new.words, mine.words) >= _MOVED for new in self.new_functions[:_MOST]):
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
                    excuse=self._excuse(each.name, each.short_name),
                )

    def find_tables(self) -> Iterator[Avoidance]:
        """New tables whose inputs are those of tests."""
        for file in self.program:
            known = {key for each in file.old.functions for place in each.answers for key in split_row(place.text)}
            for each in file.new.functions:
                for place in each.answers:
                    keys = [key.strip("\"'`") for key in split_row(place.text) if key not in known]
                    tested = [key for key in keys if len(key) > 1 and key in self.test_literals]
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

    def find_stubs(self) -> Iterator[Avoidance]:
        told = set[tuple[str, int]]()
        for file in self.program:
            old = {each.name: each for each in file.old.functions}
            for each in file.new.functions:
                mine = old.get(each.name)
                if not each.stub or (mine is not None and mine.stub) or each.is_class:
                    continue
                owner = each.name.rpartition(".")[0]
                is_hook = each.stub in _NOTHING_DONE or any(mark in owner for mark in _ABSTRACT)
                if mine is None and is_hook:
                    continue
                told.add((file.path, each.line))
                yield Avoidance(
                    kind=AvoidanceKind.work_left_out,
                    path=file.path,
                    line=each.line,
                    what=f"`{each.name}` does nothing: `{each.stub.replace('`', '')}`.",
                    confidence=0.9 if mine is not None else 0.75,
                    name=each.name,
                )
            lost = {place.text for other in self.files for place in other.old.left_out}
            for place in subtract(file.new.left_out, file.old.left_out, lambda place: place.text):
                near = any(path == file.path and abs(line - place.line) <= _NEAR for path, line in told)
                if place.text not in lost and not near:
                    sure = 0.55 if place.what.startswith("a note") else 0.7
                    yield _describe(AvoidanceKind.work_left_out, file.path, place, sure, Severity.warning, "Here ")


_NEAR = 3
_SMALL, _LARGE = 20, 30
"""Names, literals and signs of a body that does little, and of one that does much."""
_MOVED = 0.5
_LEAST_TESTED = 2


def _describe(
    kind: AvoidanceKind, path: str, place: PlaceFact, confidence: float, severity: Severity, begin: str
) -> Avoidance:
    shown = place.text.replace("`", "'")[:80]
    return Avoidance(
        kind=kind,
        path=path,
        line=place.line,
        what=f"{begin}{place.what}: `{shown}`.",
        confidence=confidence,
        severity=severity,
        name=place.text[:80],
    )


def _is_supplied(gone: FunctionFact) -> bool:
    """Whether a language may bring it by itself now: a constructor, an accessor, what operators call."""
    owner, _, name = gone.name.rpartition(".")
    is_constructor = name in {"constructor", "__construct", "initialize", "new"} or name == owner.rpartition(".")[2]
    return bool(owner) and (is_constructor or _SUPPLIED.match(name) is not None)


_SUPPLIED = re.compile(
    r"__\w+__$|_(replace|asdict|make)$|(get|set|is|has|with)[A-Z_]|component\d+$|"
    r"(eq|ne|cmp|partial_cmp|fmt|clone|copy|default|hash|equals|hashCode|toString|Equals|GetHashCode|ToString|Deconstruct|"
    r"to_s|inspect|<=>|==|eql\?|new|builder)$"
)


def _is_field(file: ChangedFacts, gone: FunctionFact) -> bool:
    """Whether its class still has something of this name: a field, or what a language makes of one."""
    owner, _, name = gone.name.rpartition(".")
    mine = next((each for each in file.new.functions if each.is_class and each.name == owner), None)
    return mine is not None and bool({name, f":{name}", name.rstrip("=")} & mine.words)
