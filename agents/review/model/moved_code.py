"""Finds code that a change moves, so that a model reads it once: where it is now, with a note where it was."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from domain.paths import is_source, is_test
from domain.review.changes import ChangeStatus, FileChange

_IMPORTS = re.compile(r"\s*(import\b|from\s|use\s|using\s|require|#\s*include|export\s+(\*|\{)|package\s)")
_TELLING = 8  # letters and digits of a line that is not equal to others by chance


def is_import(line: str) -> bool:
    return _IMPORTS.match(line) is not None


def is_telling(line: str) -> bool:
    """Whether equal lines elsewhere are likely the same code."""
    return count_letters(line) >= _TELLING and not is_import(line)


def count_letters(line: str) -> int:
    """Its letters and digits."""
    return sum(map(str.isalnum, line))


_LEAST_LINES = 5  # telling lines of a block, each another
_LEAST_LETTERS = 120  # of a block; the notes about a shorter one cost as much as it does
_BLANK = " \t"
_TOO_COMMON = 20  # places of a line that does not say where it was

Place = tuple[str, int]
"""A file, by its path at head or that of a deleted one, and a line."""


@dataclass(frozen=True)
class MovedBlock:
    """Lines that a change moves.

    :param left: the file they left, by its path at head, and their first line before the change.
    :param old_path: the name of that file before the change.
    :param reached: the file they are in, and their first line at head.
    :param deeper: characters of indentation that they gained; negative if they lost some.
    """

    left: Place
    old_path: str
    reached: Place
    length: int
    deeper: int = 0


@dataclass(frozen=True)
class Moves:
    """What a change moves.

    :param removed: a line before the change → its block.
    :param added: a line at head → its block.
    """

    removed: Mapping[Place, MovedBlock] = field(default_factory=dict[Place, MovedBlock])
    added: Mapping[Place, MovedBlock] = field(default_factory=dict[Place, MovedBlock])

    @property
    def paths(self) -> Mapping[str, frozenset[str]]:
        """File → the other files that code of it moved to."""
        pairs = {(block.left[0], block.reached[0]) for block in self.removed.values()}
        others = {(path, to) for path, to in pairs if path != to}
        return {path: frozenset(to for left, to in others if left == path) for path, _ in others}


NO_MOVES = Moves()


@dataclass(frozen=True)
class _OwnLine:
    """A removed line with its number before the change, or an added one with its number at head."""

    file: FileChange
    number: int
    text: str

    @property
    def code(self) -> str:
        return self.text.lstrip(_BLANK)


@dataclass(frozen=True)
class _Match:
    """Removed and added lines that are equal, by their places in the lists of both.

    :param deeper: characters of indentation that the added ones have more, or fewer if it is negative.
    """

    removed: int
    added: int
    length: int
    deeper: int


def find_moves(files: Sequence[FileChange]) -> Moves:
    """What these files, deleted ones among them, move within and between each other; each line moves once at most."""
    removed, added = list(_list_removed(files)), list(_list_added(files))
    places: dict[str, list[int]] = {}
    for index, line in enumerate(removed):
        if is_telling(line.text):
            places.setdefault(line.code, []).append(index)
    taken: set[int] = set()
    blocks: list[MovedBlock] = []
    at = done = 0
    while at < len(added):
        seeds = places.get(added[at].code, ())
        matches = [
            match
            for seed in (seeds if len(seeds) <= _TOO_COMMON else ())
            if seed not in taken
            and _ran_before(removed[seed].file, added[at].file)
            and (match := _extend(removed, added, seed, at, taken, done)) is not None
        ]
        best = max(matches, key=lambda match: match.length, default=None)
        if best is None or not _is_block(added[best.added : best.added + best.length]):
            at += 1
            continue
        blocks.append(_build_block(removed, added, best))
        taken.update(range(best.removed, best.removed + best.length))
        at = done = best.added + best.length
    return _collect(blocks)


def find_moves_within(files: Sequence[FileChange]) -> Moves:
    """What each of these files moves within itself."""
    every = [find_moves([file]) for file in files]
    return Moves(
        {place: block for moves in every for place, block in moves.removed.items()},
        {place: block for moves in every for place, block in moves.added.items()},
    )


def _list_removed(files: Sequence[FileChange]) -> Iterator[_OwnLine]:
    for file in files:
        if file.status is ChangeStatus.copied:
            continue  # what the copy lacks is still there
        numbered = (line for hunk in file.hunks for line in hunk.number_lines())
        yield from (_OwnLine(file, old, text) for old, new, text in numbered if old is not None and new is None)


def _list_added(files: Sequence[FileChange]) -> Iterator[_OwnLine]:
    for file in files:
        yield from (_OwnLine(file, number, text) for number, text in file.added_lines.items())


def _extend(
    removed: Sequence[_OwnLine], added: Sequence[_OwnLine], old: int, new: int, taken: Collection[int], done: int
) -> _Match | None:
    """The equal lines around two of equal code; None if these are indented in ways that cannot be compared.

    :param taken: removed lines that moved elsewhere.
    :param done: the first added line of which that is not known.
    """
    indentation = _compare_indentation(removed[old].text, added[new].text)
    if indentation is None:
        return None
    lost, gained = indentation

    def goes_on(by: int, before: int) -> bool:
        """Whether the next line on either side is equal, too."""
        one, other = old + by, new + by
        return (
            0 <= one < len(removed)
            and done <= other < len(added)
            and one not in taken
            and _adjoin(removed[one], removed[old + before])
            and _adjoin(added[other], added[new + before])
            and _is_same(removed[one].text, added[other].text, lost, gained)
        )

    start = end = 0
    while goes_on(end + 1, end):
        end += 1
    while goes_on(start - 1, start):
        start -= 1
    return _Match(old + start, new + start, end - start + 1, len(gained) - len(lost))


def _ran_before(old: FileChange, new: FileChange) -> bool:
    """Whether code of one file ran where that of the other does: documents never did, tests not in the program."""
    path = old.old_path or old.path
    return path == new.path or (is_source(path) and (is_test(new.path) or not is_test(path)))


def _adjoin(one: _OwnLine, other: _OwnLine) -> bool:
    return one.file is other.file and abs(one.number - other.number) == 1


def _compare_indentation(old: str, new: str) -> tuple[str, str] | None:
    """What a line lost and gained at its beginning, one of them nothing; None if it is indented in another way."""
    before, after = (text[: len(text) - len(text.lstrip(_BLANK))] for text in (old, new))
    if after.endswith(before):
        return "", after[: len(after) - len(before)]
    return (before[: len(before) - len(after)], "") if before.endswith(after) else None


def _is_same(old: str, new: str, lost: str, gained: str) -> bool:
    is_blank = not old.strip(_BLANK) and not new.strip(_BLANK)
    return is_blank or lost + new == gained + old


def _is_block(lines: Sequence[_OwnLine]) -> bool:
    """Whether they are so many and so telling that they are not equal by chance."""
    different = {line.code for line in lines if is_telling(line.text)}
    return len(different) >= _LEAST_LINES and sum(count_letters(line.text) for line in lines) >= _LEAST_LETTERS


def _build_block(removed: Sequence[_OwnLine], added: Sequence[_OwnLine], match: _Match) -> MovedBlock:
    old, new = removed[match.removed], added[match.added]
    return MovedBlock(
        left=(old.file.path, old.number),
        old_path=old.file.old_path or old.file.path,
        reached=(new.file.path, new.number),
        length=match.length,
        deeper=match.deeper,
    )


def _collect(blocks: Sequence[MovedBlock]) -> Moves:
    def list_places(start: Place, block: MovedBlock) -> Iterator[tuple[Place, MovedBlock]]:
        path, number = start
        return (((path, number + by), block) for by in range(block.length))

    return Moves(
        {place: block for each in blocks for place, block in list_places(each.left, each)},
        {place: block for each in blocks for place, block in list_places(each.reached, each)},
    )
