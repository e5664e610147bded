"""Finds tables that answer the inputs of tests before a function that stays does its work."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from agents.review.avoidance.answers import IS_DATA
from agents.review.avoidance.facts import FunctionFact
from agents.review.avoidance.pairing import share
from agents.review.avoidance.pairs import ChangedFacts
from agents.review.avoidance.tables import split_row
from domain.review.avoidance import Avoidance, AvoidanceKind
from domain.review.findings import Severity

_LEAST = 3
"""Inputs of tests in a table that are no accident."""
_STAYS = 0.9
"""The share of its words that a function keeps whose work stays."""
_SMALL = 15
"""Names, literals and signs of a function that does little."""
_MOST = 100
_VOCABULARY = re.compile(
    r"[1-5]\d\d$|[a-z]+/[\w.+*-]+$|\.[a-zA-Z]\w{0,5}$|#[\da-fA-F]{3,8}$|(utf|iso|latin|cp|windows|sha|md)[-_]?\d"
)
"""Inputs of a set that is the same everywhere: codes of HTTP, types and suffixes of files, colours, encodings."""


@dataclass(frozen=True)
class _Table:
    """New keys that a function answers early.

    :param is_new: whether the function did not ask this table before.
    """

    line: int
    keys: Sequence[str]
    is_new: bool


@dataclass(frozen=True)
class FastPaths:
    """The tables of a change that stand before the work.

    :param tested: literals of tests that the change leaves alone.
    """

    files: Sequence[ChangedFacts]
    tested: frozenset[str] = frozenset()

    @property
    def need_tests(self) -> bool:
        """Whether there is a table of which only the tests can tell what it is for."""
        return any(len(_list_data(table.keys)) >= _LEAST for _, _, table in self._list_tables())

    def find(self) -> Iterator[Avoidance]:
        for file, function, table in self._list_tables():
            keys = [key for key in table.keys if len(key) > 1]
            known = [key for key in keys if key in self._inputs]
            data = _list_data(known)
            is_made = len(known) >= _LEAST and len(known) * 2 >= len(keys) and len(data) * 2 > len(known)
            is_odd = len(_list_data(keys)) >= _LEAST and len(_list_data(keys)) * 2 > len(keys)
            if not is_made and (self._inputs or not is_odd):
                continue
            shown = ", ".join(f"`{key[:30]}`" for key in (data or _list_data(keys))[:3])
            told = f"{len(known)} of which tests use, such as {shown}" if is_made else f"such as {shown}"
            yield Avoidance(
                kind=AvoidanceKind.answer_hard_coded,
                path=file.path,
                line=table.line,
                what=f"`{function.name}` looks {len(keys)} inputs up before it does its work, {told}.",
                confidence=0.8 if is_made and table.is_new else 0.6,
                severity=Severity.error if is_made else Severity.warning,
                name=f"{function.name}: looked up before",
            )

    def _list_tables(self) -> Iterator[tuple[ChangedFacts, FunctionFact, _Table]]:
        for file in self.files:
            if file.is_test or file.before is None or file.is_gone:
                continue
            old = {each.name: each for each in file.old.functions}
            for each in file.new.functions:
                mine = old.get(each.name)
                if mine is not None and not each.is_class and self._stays(mine, each):
                    yield from ((file, each, table) for table in self._list_asked(file, mine, each))

    def _list_asked(self, file: ChangedFacts, mine: FunctionFact, function: FunctionFact) -> Iterator[_Table]:
        """The tables that a function asks early, by name or in branches of its own."""
        known = {literal.strip("\"'`") for literal in file.old.literals}
        known |= {key for table in file.old.tables for key in table.keys}
        for table in file.new.tables:
            keys = [key for key in table.keys if key not in known]
            if keys and table.name in function.early:
                yield _Table(table.line, keys, table.name not in mine.early)
        branches = [key.strip("\"'`") for key in function.cases]
        branches += [key.strip("\"'`") for place in function.answers for key in split_row(place.text)]
        fresh = [key for key in dict.fromkeys(branches) if key not in known]
        if fresh:
            yield _Table(function.line, fresh, is_new=len(fresh) * 2 > len(set(branches)))

    def _stays(self, mine: FunctionFact, function: FunctionFact) -> bool:
        """Whether a function still does its work, be it in another that it calls now."""
        if mine.size and mine.size < _SMALL:
            return False
        kept = len(mine.words & function.words) / max(1, len(mine.words))
        if kept >= _STAYS and function.size >= mine.size:
            return True
        return any(each.body == mine.body or share(each.words, mine.words) >= _STAYS for each in self._new_functions)

    @cached_property
    def _new_functions(self) -> list[FunctionFact]:
        known = {each.name for file in self.files for each in file.old.functions}
        return [each for file in self.files for each in file.new.functions if each.name not in known][:_MOST]

    @cached_property
    def _inputs(self) -> frozenset[str]:
        """The literals of the tests as they were: what a change tests anew, it may well have a table for."""
        before = (word for file in self.files if file.old.is_test for word in file.old.literals)
        return frozenset(word.strip("\"'`") for word in (*before, *self.tested))


def _list_data(keys: Sequence[str]) -> list[str]:
    """Those that are no words of a vocabulary."""
    return [key for key in keys if IS_DATA.search(key) and not _VOCABULARY.match(key)]
