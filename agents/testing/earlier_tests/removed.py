"""Finds the tests that a change removes, from the texts of both sides: it needs no runner."""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass

from agents.testing.earlier_tests.reading import Reader
from agents.testing.earlier_tests.sides import is_of_tests
from agents.testing.earlier_tests.texts import Version, find_stand_in
from domain.review.changes import Change
from domain.runs.earlier_tests import MOST_NAMED, EarlierTests, RemovedTest


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
    return [each for each in _take_away(before, after) if each.path not in seen and not find_stand_in(each, fresh)]


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
