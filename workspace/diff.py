"""Parses git's output about the difference of two trees, and tells what there people did not write or cannot read.

A name alone says little: a shop has a folder ``vendor``, a cluster one ``pods``. What people did not write there is
not reviewed, so a copy shows as one: a package manager's manifest stands beside it or in it, or it has a licence of its
own.
"""

import codecs
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from domain import paths
from domain.review.changes import ChangeStatus, FileChange, Hunk, TouchedFile
from domain.value import Value

_MARKS = (  # UTF-32 first, because its mark begins with that of UTF-16
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_LONG = 300  # bytes of a line; people wrap theirs
_SPACES = 0.06
"""Share of spaces and tabs up to which a line is packed: in minified code 0.05 at most, in prose and in SQL more."""
_STATEMENTS = 0.002
_STATEMENTS_AND_CALLS = 0.01
"""Shares of semicolons, and of these and opening brackets, from which a packed line is code and not data."""
_MOST_OF_IT = 0.5


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


def to_touched(entry: Entry, lines: int | None, *, may_run: bool, is_script: bool = False) -> TouchedFile:
    """The name of an entry and how much it changes.

    :param lines: how many lines it adds and removes, if they were counted.
    :param may_run: it brings something that may run; see ``TouchedFile``, as for ``is_script``.
    """
    is_same = entry.old_blob is not None and entry.old_blob == entry.new_blob
    return TouchedFile(
        path=entry.name,
        old_path=to_printable(entry.old_path) if entry.old_path != entry.path else None,
        is_gone=entry.letter == "D",
        lines=0 if is_same else lines,
        may_run=may_run,
        is_script=is_script,
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


def to_utf8(content: bytes) -> bytes:
    """The content in UTF-8 if a byte order mark declares another Unicode encoding; otherwise unchanged."""
    encoding = next((encoding for mark, encoding in _MARKS if content.startswith(mark)), None)
    return content if encoding is None else content.decode(encoding, "replace").encode()


def looks_binary(content: bytes) -> bool:
    """Whether git, and so GitHub, treats a content as binary (git's ``buffer_is_binary``)."""
    return b"\0" in content[:8000]


def is_built(content: bytes) -> bool:
    """Whether most of a content is packed code: lines of hundreds of characters that end statements without a space.

    Of 17,576 files of 45 public projects and of Python packages 132 have such lines, and no one of these was written by
    hand. One long line is not enough, and a table, a pattern or a picture in letters is not code.
    """
    packed = b"".join(line for line in content.split(b"\n") if _is_packed(line))
    written = len(b"".join(content.split()))
    return len(b"".join(packed.split())) > _MOST_OF_IT * written


def _is_packed(line: bytes) -> bool:
    if len(line) < _LONG or line.count(b" ") + line.count(b"\t") > _SPACES * len(line):
        return False
    ends = line.count(b";")
    return ends >= _STATEMENTS * len(line) and ends + line.count(b"(") >= _STATEMENTS_AND_CALLS * len(line)


_INSTALLED = frozenset({"node_modules", "bower_components"})
"""Folders that a package manager alone makes, whatever stands beside them."""
_BESIDE = {
    "vendor": ("go.mod", "go.work", "composer.json", "Gemfile", "Cargo.toml"),
    "Pods": ("Podfile",),
    "third_party": (),
    "third-party": (),
}
_INSIDE = {"vendor": ("modules.txt", "autoload.php")}
_BY_HOST = re.compile(r"(?:^|/)vendor/[a-z0-9-]+(?:\.[a-z0-9-]+)*\.[a-z]{2,}/")
"""As Go's own tool names the folders in there."""
_LICENCES = (
    *(f"{name}{suffix}" for name in ("LICENSE", "LICENCE", "COPYING") for suffix in ("", ".txt", ".md", ".rst")),
    *("METADATA", "README.chromium"),
)


def is_vendored(path: str, there: Collection[str]) -> bool:
    """Whether a file was copied from another project.

    :param there: the paths of a tree, or of those that :func:`list_marks` names the ones that it has.
    """
    is_installed = not _INSTALLED.isdisjoint(path.split("/")[:-1]) or _BY_HOST.search(path) is not None
    return is_installed or any(mark in there for mark in list_marks(path))


def list_marks(path: str) -> Iterator[str]:
    """The files of which one has to be there, so that a file counts as copied."""
    folders = path.split("/")[:-1]
    for at, folder in enumerate(folders[:-1]):  # what lies in the folder itself is the repository's own
        if folder in _BESIDE:
            above = "".join(f"{each}/" for each in folders[:at])
            yield from (f"{above}{name}" for name in _BESIDE[folder])
            yield from (f"{above}{folder}/{name}" for name in _INSIDE.get(folder, ()))
            yield from (f"{above}{folder}/{folders[at + 1]}/{name}" for name in _LICENCES)
