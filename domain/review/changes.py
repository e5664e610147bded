"""What a pull request changes: files, hunks and the mapping of lines between merge base and head."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from functools import cached_property
from itertools import groupby

from domain.paths import is_source, is_test
from domain.value import Value

MOST_MOVES, MOST_HOSTS = 6, 3
"""What is kept of one file, as it may hold thousands."""


_WORD = re.compile(r"\w+")
_MOVED = 0.9  # of the lines of a file


class ChangeStatus(StrEnum):
    """What happened to a file, in git's terms."""

    added = "added"
    modified = "modified"
    deleted = "deleted"
    renamed = "renamed"
    copied = "copied"
    mode_changed = "mode_changed"


class ContentKind(StrEnum):
    """The kind of a file's content at head; reviews read only ``text``."""

    text = "text"
    binary = "binary"
    submodule = "submodule"
    symlink = "symlink"
    lfs_pointer = "lfs_pointer"


class Hunk(Value):
    """One hunk of a unified diff with three lines of context.

    ``lines`` keep their first character: space, plus or minus. Line numbers start at 1.
    """

    old_start: int
    old_length: int
    new_start: int
    new_length: int
    lines: tuple[str, ...]

    def list_removed(self) -> Iterator[str]:
        """The text of each removed line."""
        return (line[1:] for line in self.lines if line[:1] == "-")

    def number_lines(self) -> Iterator[tuple[int | None, int | None, str]]:
        """Each line as (old number or None, new number or None, text without its first character)."""
        old, new = self.old_start, self.new_start
        for line in self.lines:
            mark, text = line[:1], line[1:]
            if mark == "+":
                yield None, new, text
                new += 1
            elif mark == "-":
                yield old, None, text
                old += 1
            else:
                yield old, new, text
                old, new = old + 1, new + 1


class FileChange(Value):
    """One file of a pull request, compared with the merge base."""

    path: str
    old_path: str | None = None
    status: ChangeStatus
    kind: ContentKind = ContentKind.text
    old_blob: str | None = None
    new_blob: str | None = None
    old_mode: str = "100644"
    new_mode: str = "100644"
    additions: int = 0
    deletions: int = 0
    hunks: tuple[Hunk, ...] = ()
    is_shown: bool = True  # by GitHub, which calls a file binary that holds a NUL byte

    @cached_property
    def added_lines(self) -> dict[int, str]:
        """New line number → text, for every added line."""
        return {
            new: text
            for hunk in self.hunks
            for old, new, text in hunk.number_lines()
            if old is None and new is not None
        }

    @cached_property
    def changed_lines(self) -> tuple[int, ...]:
        """Numbers at head of the added lines, and of those before which lines were removed; ascending."""
        found: set[int] = set()
        for hunk in self.hunks:
            here, is_cut = hunk.new_start + (hunk.new_length == 0), False
            for old, new, _ in hunk.number_lines():
                if new is None:
                    is_cut = True
                    continue
                if old is None or is_cut:
                    found.add(new)
                here, is_cut = new + 1, False
            if is_cut:
                found.add(here)
        return tuple(sorted(found))

    @cached_property
    def commentable_lines(self) -> dict[int, int]:
        """New line number → index of its hunk, for every line a review comment may be attached to on the right."""
        return {
            new: index for index, hunk in enumerate(self.hunks) for _, new, _ in hunk.number_lines() if new is not None
        }

    def can_be_commented(self, start: int, end: int) -> bool:
        """Whether lines start–end (head, inclusive) lie inside one hunk, as GitHub demands of a comment."""
        first, last = self.commentable_lines.get(start), self.commentable_lines.get(end)
        return self.is_shown and first is not None and first == last and start <= end

    def keep_hunks(self, places: Sequence[tuple[int, int]]) -> "FileChange":
        """The file with the hunks alone that show any of these lines (head, inclusive); as it is where none does."""
        shown = tuple(
            hunk
            for hunk in self.hunks
            if any(start < hunk.new_start + hunk.new_length and hunk.new_start <= end for start, end in places)
        )
        return self.model_copy(update={"hunks": shown}) if shown else self

    def head_line(self, base_line: int) -> int | None:
        """The line number at head of an unchanged line of the merge base; None if it was removed."""
        shift = 0
        for hunk in self.hunks:
            if base_line < hunk.old_start + (hunk.old_length == 0):
                break
            if base_line < hunk.old_start + hunk.old_length:
                return next((new for old, new, _ in hunk.number_lines() if old == base_line), None)
            shift = (hunk.new_start + hunk.new_length + (hunk.new_length == 0)) - (
                hunk.old_start + hunk.old_length + (hunk.old_length == 0)
            )
        return base_line + shift

    def current_line(self, base_line: int) -> int | None:
        """The line at head that a line of the merge base became, unchanged or not; None if none took its place.

        Of the lines that replaced the run it stood in, the one that shares the most words with it, and of equals the
        one at the same place in the run.
        """
        unchanged = self.head_line(base_line)
        if unchanged is not None:
            return unchanged
        for removed, added in (run for hunk in self.hunks for run in _list_runs(hunk)):
            if base_line not in removed or not added:
                continue
            words, place = _list_words(removed[base_line]), [*removed].index(base_line)
            ranked = [(_share(words, _list_words(text)), -abs(at - place)) for at, text in enumerate(added.values())]
            return [*added][ranked.index(max(ranked))]
        return None


_Lines = dict[int, str]


def _list_runs(hunk: Hunk) -> Iterator[tuple[_Lines, _Lines]]:
    """The runs of changed lines: the removed ones by their old numbers, and the added ones by their new ones."""
    for is_changed, run in groupby(hunk.number_lines(), lambda line: line[0] is None or line[1] is None):
        if is_changed:
            lines = [*run]
            removed = {old: text for old, _, text in lines if old is not None}
            yield removed, {new: text for _, new, text in lines if new is not None}


def _list_words(text: str) -> set[str]:
    return set(_WORD.findall(text))


def _share(words: set[str], others: set[str]) -> float:
    return len(words & others) / max(len(words | others), 1)


class FileVersions(Value):
    """A file's content at the merge base (under its old path) and at head; None where it does not exist."""

    base: bytes | None
    head: bytes | None


class SkippedFile(Value):
    """A file, or a group of files, that a review skipped, and why.

    ``matters`` is true for source a person must then look at: too large, too many, unreadable name.
    Generated, vendored and binary files, submodules and the like do not matter in that sense.
    ``by_model`` is true if only the model skipped it.
    """

    path: str
    reason: str
    matters: bool = False
    by_model: bool = False


class TouchedFile(Value):
    """A changed file by name, reviewed or not.

    ``path`` is at head, or the old one of a deleted file, with odd
    characters escaped. ``lines`` counts added and removed ones;
    None if unknown. ``may_run`` is true for new content that may run or decide what runs, ``is_script`` for what begins
    with ``#!`` at head.
    """

    path: str
    old_path: str | None = None
    is_gone: bool = False
    lines: int | None = None
    may_run: bool = False
    is_script: bool = False

    @property
    def has_new_content(self) -> bool:
        """Whether it has new content: no deletion, rename or change of mode only."""
        return not self.is_gone and self.lines != 0

    @property
    def is_only_moved(self) -> bool:
        """Whether it has another name, and the same content."""
        return not self.is_gone and not self.has_new_content and self.old_path not in {None, self.path}


class Change(Value):
    """Everything a pull request changes between the merge base and its head.

    ``files`` are the readable ones; ``not_looked_at`` names the others.
    ``total_files``, ``touched`` and ``paths`` cover the whole change;
    ``additions`` and ``deletions`` count the lines of ``files``.
    """

    merge_base: str
    head_sha: str
    files: tuple[FileChange, ...]
    not_looked_at: tuple[SkippedFile, ...] = ()
    total_files: int
    additions: int
    deletions: int
    touched: tuple[TouchedFile, ...] = ()

    @property
    def paths(self) -> tuple[str, ...]:
        """The path of every touched file, and the old path of a renamed one."""
        both = (path for each in self.touched for path in (each.path, each.old_path) if path is not None)
        return tuple(dict.fromkeys(both))

    @property
    def runnable_paths(self) -> frozenset[str]:
        """The paths at head of new content that may run."""
        return frozenset(each.path for each in self.touched if each.may_run)

    def file(self, path: str) -> FileChange | None:
        """The changed file with this path at head, if it is readable."""
        return next((file for file in self.files if file.path == path), None)


def list_moved_tests(change: Change) -> frozenset[str]:
    """The paths of deleted tests whose lines stand in other tests of the change: they moved there, or were split."""
    deleted = {each.path for each in change.touched if each.is_gone and is_test(each.path)}
    added = Counter(
        line
        for each in change.files
        if is_test(each.path) and is_source(each.path)
        for line in _list_statements(each.added_lines.values())
    )
    moved: set[str] = set()
    for file in change.files:
        removed = Counter(_list_statements(text for hunk in file.hunks for text in hunk.list_removed()))
        if file.path in deleted and removed and (removed & added).total() >= _MOVED * removed.total():
            moved.add(file.path)
    return frozenset(moved)


def _list_statements(lines: Iterable[str]) -> Iterator[str]:
    """The lines that say something, without layout."""
    return (line.strip() for line in lines if _WORD.search(line))


class PackageMove(Value):
    """A package whose locked versions changed; none before: it is new, none after: it is gone."""

    name: str
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


class LockChange(Value):
    """A lock file of a change.

    :param is_new: whether the file was not there before.
    :param count: packages that moved.
    :param moves: the first of them: those with a version before and after, then others, each by name.
    :param hosts: the first from which something comes now and nothing came before.
    """

    path: str
    is_new: bool = False
    count: int = 0
    moves: tuple[PackageMove, ...] = ()
    hosts: tuple[str, ...] = ()
