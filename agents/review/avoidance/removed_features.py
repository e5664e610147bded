"""Finds what the program offered or checked before a change and does not any more."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from agents.review.avoidance.facts import FunctionFact
from agents.review.avoidance.pairing import share, subtract
from agents.review.avoidance.pairs import ChangedFacts
from agents.review.avoidance.program_change import ProgramChange
from domain.review.avoidance import Avoidance, AvoidanceKind

_ALIKE = 0.7
_MOST = 300
"""New functions with which one that is gone is compared."""


@dataclass(frozen=True)
class RemovedFeatures:
    """The functions, options, checks and known values that are gone."""

    change: ProgramChange

    def find_removed(self) -> Iterator[Avoidance]:
        yield from self._find_functions()
        yield from self._find_options()
        yield from self._find_checks()
        yield from self._find_cases()

    def _find_functions(self) -> Iterator[Avoidance]:
        """Public functions and classes that are nowhere any more."""
        for file in self.change.program:
            names = {each.name for each in file.new.functions}
            gone = [each for each in file.old.functions if each.is_public and each.name not in names]
            whole = {each.name for each in gone if each.is_class}
            for each in gone:
                parent = each.name.rpartition(".")[0]
                if each.short_name in self._new_names or parent in whole or self._is_renamed(each):
                    continue
                noun = "class" if each.is_class else "function"
                is_own_business = each.short_name in self._former_uses or _is_supplied(each) or _is_field(file, each)
                yield Avoidance(
                    kind=AvoidanceKind.feature_removed,
                    path=file.path,
                    line=self._find_line(file, each),
                    what=f"The {noun} `{each.name}` is gone.",
                    confidence=0.55 if is_own_business else 0.8,
                    name=each.name,
                    excuse=self.change.excuse_removal(each.name, each.short_name),
                )

    @cached_property
    def _former_uses(self) -> frozenset[str]:
        """Names that the program used before and does not use any more: what they named was rebuilt with its uses."""
        return self._list_uses(old=True) - self._list_uses(old=False)

    def _list_uses(self, *, old: bool) -> frozenset[str]:
        sides = ((file.old if old else file.new).functions for file in self.change.program)
        return frozenset(
            word for side in sides for each in side if not each.is_class for word in each.words - {each.short_name}
        )

    @cached_property
    def _new_names(self) -> frozenset[str]:
        """The last names of what is new: a function that moved, be it to another class."""
        return frozenset(each.short_name for each in self.change.new_functions)

    def _is_renamed(self, gone: FunctionFact) -> bool:
        for each in self.change.new_functions[:_MOST]:
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

    def _find_options(self) -> Iterator[Avoidance]:
        after = {place.text for file in self.change.program for place in file.new.options}
        for file in self.change.program:
            for each in subtract(file.old.options, file.new.options, lambda place: place.text):
                if each.text not in after:
                    yield Avoidance(
                        kind=AvoidanceKind.feature_removed,
                        path=file.path,
                        what=f"{each.what[:1].upper()}{each.what[1:]} is gone.",
                        confidence=0.5 if each.what.startswith("an export") or self._is_written(each.text) else 0.75,
                        name=each.text,
                        excuse=self.change.excuse_removal(each.text),
                    )

    def _is_written(self, name: str) -> bool:
        """Whether the program still holds this literal, in another form than a line of its own."""
        return any(name in literal for file in self.change.program for literal in file.new.literals)

    def _find_checks(self) -> Iterator[Avoidance]:
        """Functions that raise fewer errors than before."""
        moved = sum(len(each.raises) for each in self.change.new_functions)
        for file in self.change.program:
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
                    excuse=self.change.excuse_removal(old.name, old.short_name),
                )
                yield Avoidance(
                    kind=AvoidanceKind.feature_removed,
                    path=file.path,
                    line=new.line,
                    what=f"A check is gone from `{old.name}`: `{lost[0][:80]}`.",
                    confidence=0.6,
                    name=f"{old.name}: check",
                    excuse=self.change.excuse_removal(old.name, old.short_name),
                )

    def _find_cases(self) -> Iterator[Avoidance]:
        """Values that a function told apart before, and does not know any more."""
        known = {case for file in self.change.program for each in file.new.functions for case in each.cases}
        for file in self.change.program:
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
                        excuse=self.change.excuse_removal(*(case.strip("\"'") for case in gone)),
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
