"""Finds what is gone after a change: names that the program had, and tests, from the texts of both sides."""

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from agents.testing.earlier_tests.choice import Entry, is_of_tests
from agents.testing.earlier_tests.names import (
    find_missing,
    find_unwarned,
    is_defined_less,
    keep_gone,
    list_words,
    shorten,
)
from agents.testing.earlier_tests.reading import Reader, is_of_program
from agents.testing.earlier_tests.texts import Version, find_stand_in
from domain.review.changes import Change
from domain.runs.earlier_tests import MOST_NAMED, EarlierTests, RemovedTest

_EXPECTS_VALUE = re.compile(r"==|equal|toBe\(|\beq\b|assert_eq|IsEqual|\bsame\b|EqualTo|\bis\(", re.IGNORECASE)
_TEXTS = re.compile(r"\"[^\"]*\"|'[^']*'|`[^`]*`")


class GoneNames:
    """What is gone from the program between two commits.

    :param before: path → content, of the program's files that differ, before the change; :param after: at head.
    """

    def __init__(self, reader: Reader, head: str, before: Mapping[str, str], after: Mapping[str, str]) -> None:
        self._reader = reader
        self._head = head
        self._before = before
        self._after = after

    @classmethod
    async def of(
        cls, reader: Reader, commits: tuple[str, str], base: Mapping[str, Entry], head: Mapping[str, Entry]
    ) -> "GoneNames":
        """Read what differs between two commits."""
        touched = [path for path in base if base[path] != head.get(path) and is_of_program(path)]
        return cls(reader, commits[1], await reader.read(commits[0], touched), await reader.read(commits[1], touched))

    def verify(self, output: str) -> tuple[str, ...]:
        """The names that an output misses and the program defined, and defines no more; kinds of warnings: named."""
        missing = [name for name in find_missing(output) if is_defined_less(name, self._before, self._after)]
        return (*missing, *keep_gone(find_unwarned(output), self._before, self._after))

    async def find_in(self, version: Version, beside: Version | None) -> tuple[str, ...]:
        """The names and texts in a test that no file of the program has any more; kinds of warnings: no touched one.

        A value that an assertion expects is none: a program that answers another one has not lost it.

        :param beside: what stands in its place; what that still names is not gone.
        """
        words = list_words([_TEXTS.sub("", line) if _EXPECTS_VALUE.search(line) else line for line in version.lines])
        still = "" if beside is None else "\n".join(beside.lines)
        candidates = [word for word in keep_gone(words, self._before, self._after) if word not in still]
        candidates = [word for word in candidates if self._may_be_gone(word)]
        unused = {*await self._reader.keep_unused(self._head, candidates)}
        found = [word for word in candidates if word in unused or _is_warning(word)]
        return tuple([word for word in found if not _is_warning(word)] or found)[:10]

    def _may_be_gone(self, word: str) -> bool:
        """Whether a word is a text, a kind of warning or error that the language defines, or the program's own."""
        is_own = not word.isidentifier() or is_defined_less(word, self._before, self._after)
        return is_own or _is_warning(word) or word.endswith(("Error", "Exception"))


def _is_warning(word: str) -> bool:
    """Whether a word is a kind of warning: that others still give it does not mean that this one is there."""
    return word.endswith("Warning")


def name_for_people(names: Sequence[str]) -> tuple[str, ...]:
    """The names without the places they were looked for in, each once."""
    return tuple(dict.fromkeys(shorten(name) if name.startswith((".", "/")) else name for name in names))


async def add_removed(said: EarlierTests, reader: Reader, change: Change, seen: Collection[str] = ()) -> EarlierTests:
    """What the earlier tests say, with those that the change removes and that nobody ran.

    :param seen: paths of files of which a run told something.
    """
    removed = await _find_removed(reader, change, seen)
    named = tuple(RemovedTest(name=each.test.name[:200], path=each.path) for each in removed[:MOST_NAMED])
    return said.model_copy(update={"removed": named, "removed_count": len(removed)}) if removed else said


async def _find_removed(reader: Reader, change: Change, seen: Collection[str]) -> list[Version]:
    old, new = change.merge_base, change.head_sha
    touched = [path for path in change.paths if is_of_tests(path)]
    if not any(path not in seen for path in touched):
        return []
    base, head = await reader.list_files(old), await reader.list_files(new)
    before = await _list_tests(reader, old, [path for path in touched if path in base])
    after = await _list_tests(reader, new, [path for path in touched if path in head])
    fresh = [each for each in after if _key(each) not in set(map(_key, before))]
    gone = (each for each in _take_away(before, after) if each.path not in seen and not find_stand_in(each, fresh))
    known = {each.lines for each in before}
    grown = [each for each in after if each.lines not in known]
    return [each for each in gone if not any(_is_within(each, other) for other in grown)]


def _is_within(test: Version, other: Version) -> bool:
    """Whether all that a test does stands in another one."""
    own = {line for line in test.lines if test.test.name not in line}
    return bool(own) and own <= {*other.lines}


async def _list_tests(reader: Reader, commit: str, paths: Collection[str]) -> list[Version]:
    found = await reader.find_versions(await reader.read(commit, paths))
    return [each for tests in found.values() for each in tests]


def _take_away(before: list[Version], after: list[Version]) -> list[Version]:
    """The tests of before without those that are still there, wherever they are now."""
    there = _Places(Counter(map(_key, after)), Counter(each.test.name for each in after))
    rest = [each for each in before if not there.take_same(each)]
    return [each for each in rest if not there.take_named(each)]


@dataclass
class _Places:
    """The tests of after that none of before has been found to be yet."""

    keys: Counter[tuple[str, str, tuple[str, ...]]]
    names: Counter[str]

    def take_same(self, test: Version) -> bool:
        """Whether it is where it was."""
        is_there = self.keys[_key(test)] > 0
        if is_there:
            self.keys[_key(test)] -= 1
            self.names[test.test.name] -= 1
        return is_there

    def take_named(self, test: Version) -> bool:
        """Whether it is anywhere else."""
        is_there = self.names[test.test.name] > 0
        self.names[test.test.name] -= is_there
        return is_there


def _key(test: Version) -> tuple[str, str, tuple[str, ...]]:
    return test.path, test.test.name, tuple(test.test.groups)
