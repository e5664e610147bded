"""Parses git's output about the difference of two trees."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from domain import paths
from domain.review.changes import ChangeStatus, FileChange, Hunk, TouchedFile
from domain.value import Value

EXECUTABLE = "100755"
REGULAR = frozenset({"100644", EXECUTABLE, "100664"})
MODULE = "160000"
LINK = "120000"
ABSENT = "000000"


class DiffLimits(Value):
    """How much of a change is reviewed.

    GitHub shows 300 files, 20,000 lines or 1 MB of a diff, and 20,000 lines or 500 KB of one file ("Limits for viewing
    content and diffs in a repository", docs.github.com). Beyond that no comment can be attached. The other limits are
    ours, among them the size of one version of a file and of all files together, and the length of a name.
    """

    files: int = 300
    file_lines: int = 20_000
    file_bytes: int = 500_000
    lines: int = 20_000
    bytes: int = 1_000_000
    content_bytes: int = 2_000_000
    all_content_bytes: int = 50_000_000
    name_bytes: int = 1_024
    rename_candidates: int = 1_000
    named: int = 20


DEFAULT = DiffLimits()


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of ``git diff-tree --raw -z``; names are bytes, because git guarantees nothing about them."""

    path: bytes
    old_path: bytes
    letter: str
    old_mode: str
    new_mode: str
    old_blob: str | None
    new_blob: str | None

    @property
    def name(self) -> str:
        """The path for people: valid UTF-8 without control characters, the rest escaped."""
        return to_printable(self.path)

    @property
    def blobs(self) -> tuple[str, ...]:
        return tuple(blob for blob in (self.old_blob, self.new_blob) if blob)

    @property
    def status(self) -> ChangeStatus:
        if self.letter == "M" and self.old_blob == self.new_blob:
            return ChangeStatus.mode_changed
        return _STATUS[self.letter]


_STATUS = {
    "A": ChangeStatus.added,
    "D": ChangeStatus.deleted,
    "M": ChangeStatus.modified,
    "T": ChangeStatus.modified,
    "R": ChangeStatus.renamed,
    "C": ChangeStatus.copied,
}


@dataclass(frozen=True, slots=True)
class Skipped:
    """An entry that is not reviewed, and why; ``matters`` as in ``SkippedFile``."""

    name: str
    reason: str
    matters: bool = False


def to_printable(path: bytes) -> str:
    """A path as text: bytes that are not UTF-8 and control characters become ``\\x..`` escapes."""
    return paths.escape_unprintable(path.decode("utf-8", "backslashreplace"))


def parse_raw(output: bytes) -> list[Entry]:
    """The entries of ``git diff-tree -r --raw -z --no-abbrev``, in git's (and GitHub's) order."""
    fields = iter(output.split(b"\0"))
    entries: list[Entry] = []
    for meta in fields:
        if not meta.startswith(b":"):
            continue
        old_mode, new_mode, old, new, status = meta[1:].decode("ascii").split(" ")
        letter = status[0]
        if letter not in _STATUS:
            raise ValueError(f"git reported a change of an unknown kind: {status}")
        old_path = next(fields)
        path = next(fields) if letter in "RC" else old_path
        entries.append(
            Entry(path, old_path, letter, old_mode, new_mode, _object(old, old_mode), _object(new, new_mode))
        )
    return entries


def _object(name: str, mode: str) -> str | None:
    """The blob; None if there is none, as for a submodule."""
    return None if mode in {ABSENT, MODULE} else name


# --- renames -----------------------------------------------------------------------------------------------


def pair_renames(entries: Sequence[Entry], renamed: Iterable[Entry]) -> list[Entry]:
    """The entries with each added and deleted pair replaced by its rename."""
    renames = {entry.path: entry for entry in renamed if entry.letter == "R"}
    gone = {entry.old_path for entry in renames.values()}
    return [
        renames.get(entry.path, entry) if entry.letter == "A" else entry
        for entry in entries
        if not (entry.letter == "D" and entry.path in gone)
    ]


# --- hunks -------------------------------------------------------------------------------------------------

_FILE = re.compile(rb"diff --git a/(\d+) b/\1")
_HUNK = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


@dataclass(frozen=True, slots=True)
class Patch:
    """The hunks of one file, and their size."""

    hunks: tuple[Hunk, ...] = ()
    lines: int = 0
    bytes: int = 0


def parse_patch(output: bytes) -> dict[int, Patch]:
    """The patches of ``git diff-tree -p`` over two trees whose files have numbers for names.

    Lines end at a line feed only, so a carriage return stays part of its line, and "No newline at end of file" is not a
    line. Bytes that are not UTF-8 become U+FFFD.
    """
    lines = output.split(b"\n")
    patches: dict[int, Patch] = {}
    number, at = -1, 0
    while at < len(lines):
        line = lines[at]
        at += 1
        if header := _FILE.fullmatch(line):
            number = int(header[1])
            patches[number] = Patch()
        elif header := _HUNK.match(line):
            old_start, old_length, new_start, new_length = (
                1 if part is None else int(part) for part in header.groups()
            )
            body, at = _body(lines, at, old_length, new_length)
            hunk = Hunk(
                old_start=old_start,
                old_length=old_length,
                new_start=new_start,
                new_length=new_length,
                lines=tuple(text.decode("utf-8", "replace") for text in body),
            )
            before = patches[number]
            size = sum(len(text) + 1 for text in body)
            patches[number] = Patch((*before.hunks, hunk), before.lines + len(body) + 1, before.bytes + size)
    return patches


def _body(lines: Sequence[bytes], at: int, old_left: int, new_left: int) -> tuple[list[bytes], int]:
    """The lines of one hunk, counted by its header, so that their content cannot end it early."""
    body: list[bytes] = []
    while old_left or new_left:
        line = lines[at]
        at += 1
        if line.startswith(b"\\"):
            continue
        old_left -= not line.startswith(b"+")
        new_left -= not line.startswith(b"-")
        body.append(line)
    return body, at


def to_touched(entry: Entry, lines: int | None, *, may_run: bool) -> TouchedFile:
    """The name of an entry and how much it changes.

    :param lines: how many lines it adds and removes, if they were counted.
    :param may_run: it brings something that may run; see ``TouchedFile``.
    """
    is_same = entry.old_blob is not None and entry.old_blob == entry.new_blob
    return TouchedFile(
        path=entry.name,
        old_path=to_printable(entry.old_path) if entry.old_path != entry.path else None,
        is_gone=entry.letter == "D",
        lines=0 if is_same else lines,
        may_run=may_run,
    )


def to_file_change(entry: Entry, patch: Patch, *, is_shown: bool = True) -> FileChange:
    """The change of one text file.

    :param is_shown: GitHub shows its diff.
    """
    marks = [line[:1] for hunk in patch.hunks for line in hunk.lines]
    return FileChange(
        path=entry.path.decode(),
        old_path=to_printable(entry.old_path) if entry.old_path != entry.path else None,
        status=entry.status,
        old_blob=entry.old_blob,
        new_blob=entry.new_blob,
        old_mode=entry.old_mode,
        new_mode=entry.new_mode,
        additions=marks.count("+"),
        deletions=marks.count("-"),
        hunks=patch.hunks,
        is_shown=is_shown,
    )
