"""Finds the lines of a change for which earlier tests fail, by putting them back, and whether it shows they are meant.

Two things show that, and both are seen by running: the lines were only taken away, so that what the test demanded went
with its code; or a new test of the change needs them as they are now, so that it demands the contrary.
"""

import re
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from agents.testing.earlier_tests.outcomes import Culprits
from agents.testing.earlier_tests.reading import Reader, is_of_program
from agents.testing.earlier_tests.running import FileRunner, Sides, find_version, list_passed
from agents.testing.earlier_tests.texts import find_failing_line, quote, tell_something
from domain.text.line_diff import list_changes
from workspace.commits import write_blob, write_tree
from workspace.git import Git

_TRIES, _SECONDS = 20, 90.0  # of runs to find the fewest hunks, and of the sandbox in them
_MOST_HUNKS, _MOST_NEEDED = 150, 6
_MOST_FILES = 30  # of head's tests
_SHOWN = 3  # places
_WORD = re.compile(r"\w+")
_BETWEEN = frozenset({",", "|", "or"})
_TOKEN = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True)
class ProgramHunk:
    """One place of the program that a change touches.

    :param start: the first of its lines before the change, from 0; :param at: the same after it.
    :param old: its lines before; :param new: after.
    """

    path: str
    start: int
    at: int
    old: tuple[str, ...]
    new: tuple[str, ...]

    @property
    def place(self) -> str:
        """Where its lines stood, for people."""
        first, last = self.start + 1, self.start + len(self.old)
        return f"{self.path}:{first}" if last <= first else f"{self.path}:{first}-{last}"


def list_hunks(path: str, before: str, after: str) -> list[ProgramHunk]:
    """The places at which two texts of a file differ."""
    old, new = before.split("\n"), after.split("\n")
    return [
        ProgramHunk(path, start, at, tuple(old[start:end]), tuple(new[at:to]))
        for start, end, at, to in list_changes(old, new)
    ]


def put_back(hunks: Sequence[ProgramHunk], after: Mapping[str, str]) -> dict[str, str]:
    """The files with some places as they were before.

    :param after: path → content, after the change; of a file that is not there, nothing.
    """
    lines = {hunk.path: after.get(hunk.path, "").split("\n") for hunk in hunks}
    for hunk in sorted(hunks, key=lambda each: -each.at):
        lines[hunk.path][hunk.at : hunk.at + len(hunk.new)] = hunk.old
    return {path: "\n".join(each) for path, each in lines.items()}


async def find_fewest(
    hunks: Sequence[ProgramHunk], helps: Callable[[Sequence[ProgramHunk]], Awaitable[bool]]
) -> list[ProgramHunk]:
    """The fewest of some hunks without which it does not help to put them back; none where that takes too long.

    :param helps: whether it does; of all of them it was seen to.
    """
    kept, size, tries = [*hunks], len(hunks) // 2, 0
    while size:
        for start in range(0, len(kept), size):
            rest = [*kept[:start], *kept[start + size :]]
            if rest and tries >= _TRIES:
                return []
            tries += bool(rest)
            if rest and await helps(rest):
                kept = rest
                break
        else:
            size = size // 2
        size = min(size, len(kept) // 2)
    return kept


def takes_away(hunk: ProgramHunk, hunks: Iterable[ProgramHunk]) -> bool:
    """Whether its lines are gone: what is left of them is as it was, and nothing like them is new elsewhere.

    :param hunks: all of the change.
    """
    if not _only_shrinks(hunk):
        return False
    gone = [{*_WORD.findall(line)} for line in hunk.old if line not in hunk.new]
    new = [{*_WORD.findall(line)} for each in hunks if not _only_shrinks(each) for line in each.new]
    return not any(2 * len(one & other) > len(one | other) > 1 for one in gone for other in new)


def _only_shrinks(hunk: ProgramHunk) -> bool:
    old, new = ([line.strip() for line in lines if line.strip()] for lines in (hunk.old, hunk.new))
    left = iter(old)
    return bool(old) and (all(line in left for line in new) or _drops_elements(" ".join(old), " ".join(new)))


def _drops_elements(old: str, new: str) -> bool:
    """Whether only elements or alternatives are gone, such as arguments, and all others are as they were."""
    before, after = _TOKEN.findall(old), _TOKEN.findall(new)
    changes = list_changes(before, after)
    gone = [before[each.start : each.end] for each in changes]
    is_part = all(each.at == each.to for each in changes)
    return is_part and all(_BETWEEN & {*each} and _is_balanced(each) for each in gone)


def _is_balanced(tokens: Sequence[str]) -> bool:
    return all(tokens.count(one) == tokens.count(other) for one, other in ("()", "[]", "{}"))


@dataclass(frozen=True)
class CulpritSearch:
    """Looks for the culprits of one change.

    :param tree: the head with the tests of before on it.
    """

    git: Git
    runner: FileRunner
    reader: Reader
    sides: Sides
    tree: str

    async def find(self, failing: Mapping[str, str], accused: Collection[str]) -> dict[str, Culprits]:
        """The culprits of tests, as far as they can be told.

        :param failing: id → path of a test that fails at head and passed before.
        :param accused: ids of all that do: none of them speaks for another.
        """
        sides = self.sides
        touched = [path for path in {**sides.base, **sides.head} if sides.base.get(path) != sides.head.get(path)]
        touched = sorted(path for path in touched if path not in sides.overlay and is_of_program(path))
        before, after = await self.reader.read(sides.old, touched), await self.reader.read(sides.new, touched)
        hunks = [each for path in touched for each in list_hunks(path, before.get(path, ""), after.get(path, ""))]
        needs = await self._narrow(hunks, after, failing) if 0 < len(hunks) <= _MOST_HUNKS else {}
        found: dict[str, Culprits] = {}
        contrary: dict[tuple[ProgramHunk, ...], tuple[str, ...]] = {}
        for name, needed in needs.items():
            is_taken = all(takes_away(each, hunks) for each in needed)
            if not is_taken and needed not in contrary:
                contrary[needed] = await self._find_contrary(needed, after, accused)
            largest = sorted(needed, key=lambda each: -len(each.old))[:_SHOWN]
            found[name] = Culprits(tuple(each.place for each in largest), is_taken, contrary.get(needed, ()))
        return found

    async def _narrow(
        self, hunks: Sequence[ProgramHunk], after: Mapping[str, str], failing: Mapping[str, str]
    ) -> dict[str, tuple[ProgramHunk, ...]]:
        """The fewest hunks that each test needs to be put back."""
        files = sorted({*failing.values()})

        async def list_helped(some: Sequence[ProgramHunk]) -> set[str]:
            tree = await self._put_back(self.tree, some, after)
            return failing.keys() & list_passed(await self.runner.run(tree, files, self.sides.runners))

        until = self.runner.seconds + _SECONDS
        helped = await list_helped(hunks)

        async def helps(some: Sequence[ProgramHunk]) -> bool:
            return self.runner.seconds < until and helped <= await list_helped(some)

        kept = await find_fewest(hunks, helps) if helped else []
        if self.runner.seconds > until:
            return {}
        if not 1 < len(kept) <= _MOST_NEEDED:
            return dict.fromkeys(helped, tuple(kept)) if len(kept) == 1 else {}
        without = [(hunk, await list_helped([each for each in kept if each is not hunk])) for hunk in kept]
        return {name: tuple(hunk for hunk, still in without if name not in still) or (*kept,) for name in helped}

    async def _find_contrary(
        self, needed: Sequence[ProgramHunk], after: Mapping[str, str], accused: Collection[str]
    ) -> tuple[str, ...]:
        """What a test of the change demands that fails before it, and with these hunks put back."""
        sides = self.sides
        paths = [path for path in sides.head if sides.head[path] != sides.base.get(path) and sides.now.has(path)]
        old = await write_tree(self.git, sides.old, sides.underlay)
        trees = (sides.new, old, await self._put_back(sides.new, needed, after))
        now, before, back = [await self.runner.run(tree, sorted(paths)[:_MOST_FILES], sides.now) for tree in trees]
        versions = await self.reader.find_versions(await self.reader.read(sides.new, paths))
        for name in sorted(list_passed(now) - {*accused}):
            if all(name in ran.cases and ran.cases[name].outcome.is_bad for ran in (before, back)):
                version = find_version(now.cases[name], versions.get(now.cases[name].path or "", ()))
                output = back.cases[name].details or back.cases[name].message
                lines = () if version is None else quote(version, find_failing_line(version, output))
                return (name.rpartition("::")[2], *tell_something(lines))
        return ()

    async def _put_back(self, tree: str, hunks: Sequence[ProgramHunk], after: Mapping[str, str]) -> str:
        modes = {path: entry[0] for path, entry in {**self.sides.base, **self.sides.head}.items()}
        texts = put_back(hunks, after)
        blobs = {path: (modes[path], await write_blob(self.git, text.encode())) for path, text in texts.items()}
        return await write_tree(self.git, tree, blobs)
