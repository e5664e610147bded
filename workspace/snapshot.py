"""Reads and searches the files of one commit and their history, within bounds; nothing is checked out.

The bounds count what a commit holds, not which objects are local: the same question gets the same answer, whether or
not blobs had to be fetched.

Only the blobs of the file itself are needed, and those are fetched at once, so that a blobless mirror will do.
"""

import asyncio
import copy
import json
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from domain.errors import CodeAccessError
from workspace.code_search import BINARY_WITHIN, BOOT
from workspace.diff import LINK, MODULE, REGULAR, to_printable
from workspace.git import MEGABYTE, GitOutput
from workspace.objects import Objects

_PLAIN = ("--no-renames", "--no-ext-diff", "--no-textconv", "--no-color", "--no-show-signature")
_NOWHERE = "0" * 40
_LONGEST_SUBJECT = 1_000  # characters of a commit's subject that are read


@dataclass(frozen=True, slots=True)
class PastCommit:
    """A commit, as it describes itself.

    :param date: its author's day, as ISO 8601 in UTC.
    :param subject: the first line of its message.
    """

    sha: str
    date: str
    subject: str


@dataclass(frozen=True, slots=True)
class BlamedLines:
    """Lines in a row that one commit wrote.

    :param is_older: whether an earlier commit may have written them, beyond the versions that are looked at.
    """

    first: int
    last: int
    commit: PastCommit
    is_older: bool = False


class History:
    """The history that ends with a commit.

    :param commit: its SHA; the repository has it.
    """

    most_versions = 100
    """Versions of a file that are looked at to find who wrote a line."""

    def __init__(self, objects: Objects, commit: str) -> None:
        self._objects = objects
        self._commit = commit

    async def list_commits(self, path: str | None, most: int) -> list[PastCommit]:
        """The newest commits, or the newest that changed a file, the last one first.

        :raises CodeAccessError: git could not read them.
        """
        subject = f"%<({_LONGEST_SUBJECT},trunc)%s"
        shown = (f"--format=%H%x00%at%x00{subject}%x00", f"--max-count={most}", "--end-of-options", self._commit, "--")
        listed = await self._objects.git.run("--literal-pathspecs", "log", *_PLAIN, *shown, *([path] if path else []))
        parts = listed.stdout.decode(errors="replace").split("\0")
        rows = (parts[at : at + 3] for at in range(0, len(parts) - 3, 3))
        return [PastCommit(sha.strip(), _day(time), subject.rstrip()) for sha, time, subject in rows]

    async def blame(self, path: str, first: int, last: int) -> list[BlamedLines]:
        """Who wrote some lines of a file.

        :param first, last: numbers of lines that the file has, counted from 1.
        :raises CodeAccessError: git could not fetch or read its versions.
        """
        edge = await self._fetch_versions(path)
        options = ("--line-porcelain", "--no-follow", "--no-textconv", "-L", f"{first},{last}")
        blamed = await self._objects.git.run("blame", *options, self._commit, *edge, "--", path)
        lines = blamed.stdout.decode(errors="replace").split("\n")
        return list(_join(_parse(lines, is_bounded=bool(edge))))

    async def _fetch_versions(self, path: str) -> list[str]:
        """Fetch the versions of a file; the commits beyond which it is not looked at, each as ``^SHA``."""
        shown = ("-m", "--raw", "--no-abbrev", "--format=%H %P", "--parents", f"--max-count={self.most_versions}")
        listed = await self._objects.git.run(
            "--literal-pathspecs", "log", *_PLAIN, *shown, "--end-of-options", self._commit, "--", path
        )
        lines = listed.stdout.decode(errors="replace").split("\n")
        versions = {blob for line in lines if line.startswith(":") for blob in line.split(" ")[2:4]}
        await self._objects.available(versions - {_NOWHERE})
        named = [line.split(" ") for line in lines if line and not line.startswith(":")]
        parents = {commit: others for commit, *others in named}
        if len(parents) < self.most_versions:
            return []
        beyond = {each: None for others in parents.values() for each in others if each not in parents}
        return [f"^{commit}" for commit in beyond]


_ANY = range(-64, 256)
_SIMPLER = "Use a simpler pattern, a fixed text (fixed=true), or a narrower glob."


class CannotRead(Exception):
    """A file cannot be read, or a search is not possible; the message says why and what to do instead."""


@dataclass(frozen=True, slots=True)
class SnapshotFile:
    """An entry of a commit.

    :param path: as text; see :func:`workspace.diff.to_printable`.
    :param mode: git's, six octal digits.
    """

    path: str
    mode: str
    blob: str
    has_odd_name: bool = False

    @property
    def obstacle(self) -> str | None:
        """Why it has no text to read; None if it may have one."""
        if self.mode == LINK:
            return "a symbolic link, which is not followed"
        if self.mode == MODULE:
            return "a submodule, which is not followed"
        if self.mode not in REGULAR:
            return "no regular file"
        return "a file with control characters or no UTF-8 in its name" if self.has_odd_name else None


@dataclass(frozen=True, slots=True)
class SnapshotBounds:
    """The limits of reading and searching.

    :param file_bytes: the size of a file.
    :param files, bytes: how much one search may read.
    :param together: blobs fetched in one request.
    :param seconds: the time of one search.
    :param memory: the memory of one search, in bytes.
    :param matches, matches_each: the matching lines that a search names, in all and per file.
    :param shown_bytes: the size of all files whose matching lines are named.
    """

    file_bytes: int = MEGABYTE
    files: int = 20_000
    bytes: int = 200 * MEGABYTE
    together: int = 5_000
    seconds: float = 10
    memory: int = 500 * MEGABYTE
    matches: int = 200
    matches_each: int = 50
    shown_bytes: int = 2 * MEGABYTE


BOUNDS = SnapshotBounds()


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The result of a search, in the order of the paths.

    :param counts: path → number of lines that match.
    :param lines: path → numbers of those lines; the bounds may leave out some lines, and whole files.
    :param contents: of the files in ``lines``.
    :param too_large: number of files that were too large to be searched.
    """

    counts: Mapping[str, int] = field(default_factory=dict[str, int])
    lines: Mapping[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])
    contents: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    too_large: int = 0


class Snapshot:
    """The files of one commit.

    :param files: path → entry, without folders, in the order of their paths.
    """

    def __init__(
        self, objects: Objects, commit: str, files: Mapping[str, SnapshotFile], bounds: SnapshotBounds = BOUNDS
    ) -> None:
        self.commit = commit
        self.files = files
        self.bounds = bounds
        self._objects = objects
        self._searcher = copy.copy(objects.git)  # runs a process that runs git, within the same limits
        self._searcher.program = sys.executable
        self._searcher.memory = bounds.memory
        self._not_to_be_had: set[str] = set()
        self._one_at_a_time = asyncio.Lock()  # tools run at the same time, but only one of them fetches or searches

    @classmethod
    async def of(cls, objects: Objects, commit: str, bounds: SnapshotBounds = BOUNDS) -> "Snapshot":
        """Open a commit that the repository has; its blobs may be missing.

        :raises CodeAccessError: the repository does not have it, or it holds too many files.
        """
        listed = await objects.git.run("ls-tree", "-r", "-z", "--full-tree", "--end-of-options", commit)
        return cls(objects, commit, _parse_entries(listed.stdout), bounds)

    @property
    def history(self) -> History:
        """The history that ends with the commit."""
        return History(self._objects, self.commit)

    async def read(self, path: str) -> bytes:
        """The content of a text file.

        :param path: one of ``files``.
        :raises CannotRead: it is not a text file, or too large.
        :raises CodeAccessError: it could not be fetched.
        """
        file = self.files[path]
        if file.obstacle:
            raise CannotRead(f"{path} is {file.obstacle}. Read another file.")
        if not await self._sizes([file]):
            most = f"{self.bounds.file_bytes:,} bytes"
            raise CannotRead(f"{path} has {most} or more, which is too large to be read or searched. Do without it.")
        content = (await self._contents([file]))[path]
        if b"\0" in content[:BINARY_WITHIN]:
            raise CannotRead(f"{path} is a binary file and holds no text to read. Do without it.")
        return content

    async def search(
        self, pattern: str, paths: Collection[str], *, fixed: bool = False, ignore_case: bool = False
    ) -> SearchResult:
        """The lines that match in text files.

        :param pattern: a regular expression of Rust, matched within a line.
        :param paths: of ``files``; only these are searched.
        :param fixed: the pattern is the text itself.
        :param ignore_case: of letters.
        :raises CannotRead: the pattern is invalid or takes too long, or there is too much to search.
        :raises CodeAccessError: the files could not be fetched.
        """
        files = [self.files[path] for path in sorted(paths) if not self.files[path].obstacle]
        sizes = await self._searchable(files)
        within = [file for file in files if file.blob in sizes]
        flags = "(?i)" if ignore_case else ""
        matches = await self._find(within, flags + (re.escape(pattern) if fixed else pattern))
        lines = _select_lines(matches, sizes, self.bounds)
        contents = await self._contents([self.files[path] for path in lines])
        counts = {match.file.path: match.lines for match in matches}
        return SearchResult(counts, lines, contents, len(files) - len(within))

    async def _searchable(self, files: Sequence[SnapshotFile]) -> dict[str, int]:
        """Fetch the blobs that a search may read. Returns their sizes."""
        if len(files) > self.bounds.files:
            raise CannotRead(f"{len(files):,} files are more than one search looks into. Narrow it with a glob.")
        sizes: dict[str, int] = {}
        for start in range(0, len(files), self.bounds.together):
            sizes |= await self._sizes(files[start : start + self.bounds.together])
            if sum(sizes.values()) > self.bounds.bytes:
                most = f"{self.bounds.bytes:,} bytes"
                raise CannotRead(f"The files hold more than the {most} one search looks into. Narrow it with a glob.")
        return sizes

    async def _sizes(self, files: Sequence[SnapshotFile]) -> dict[str, int]:
        """The sizes of the blobs that are not too large. A blob that cannot be fetched is requested only once."""
        async with self._one_at_a_time:
            wanted = {file.blob for file in files} - self._not_to_be_had
            sizes = await self._objects.available(wanted)
            self._not_to_be_had |= wanted - sizes.keys()
        return {blob: size for blob, size in sizes.items() if size < self.bounds.file_bytes}

    async def _contents(self, files: Sequence[SnapshotFile]) -> dict[str, bytes]:
        contents = await self._objects.contents({file.blob for file in files})
        if any(file.blob not in contents for file in files):
            raise CodeAccessError("Some files could not be read from the repository.")
        return {file.path: contents[file.blob] for file in files}

    async def _find(self, files: Sequence[SnapshotFile], pattern: str) -> "list[_FileMatch]":
        """The files with matching lines, in order.

        :raises CannotRead: the pattern is invalid, or the search takes too long or too much memory.
        """
        if not files:
            return []
        paths = [str(Path(entry).absolute()) for entry in sys.path]
        settings = {"git": self._objects.git.program, "pattern": pattern, "each": self.bounds.matches_each}
        arguments = ("-I", "-S", "-c", BOOT, json.dumps(paths), json.dumps(settings))
        blobs = "".join(f"{file.blob}\n" for file in files).encode()
        seconds = self.bounds.seconds
        try:
            async with self._one_at_a_time, asyncio.timeout(seconds):
                done = await self._searcher.run(*arguments, stdin=blobs, expect=_ANY, seconds=2 * seconds)
        except TimeoutError:
            raise CannotRead(f"The search took longer than {seconds:g} seconds and was ended. {_SIMPLER}") from None
        return [_FileMatch(files[place], count, tuple(numbers)) for place, count, numbers in _read_found(done)]


class _FileMatch(NamedTuple):
    """A file with matching lines.

    :param lines: how many lines match.
    :param numbers: of the first ones.
    """

    file: SnapshotFile
    lines: int
    numbers: tuple[int, ...]


def _read_found(done: GitOutput) -> list[tuple[int, int, list[int]]]:
    """What a search printed.

    :raises CannotRead: the engine does not take the pattern, or the search took too much memory.
    """
    if done.code < 0 or "MemoryError" in done.stderr:
        raise CannotRead(f"The search took too much memory. {_SIMPLER}")
    if done.code:
        raise CodeAccessError(f"A search failed ({done.stderr[-300:] or f'exit code {done.code}'}).")
    printed = json.loads(done.stdout)
    if mistake := printed.get("mistake"):
        raise CannotRead(f"The search does not take the pattern ({mistake}). {_SIMPLER}")
    return printed["found"]


def _parse_entries(listed: bytes) -> dict[str, SnapshotFile]:
    """The entries of ``ls-tree -z``. An odd name never hides an ordinary one with the same printable form."""
    entries = sorted(map(_entry, listed.split(b"\0")[:-1]), key=lambda file: (file.path, not file.has_odd_name))
    return {file.path: file for file in entries}


def _entry(line: bytes) -> SnapshotFile:
    meta, _, name = line.partition(b"\t")
    mode, _, blob = meta.decode().split(" ")
    path = to_printable(name)
    return SnapshotFile(path, mode, blob, has_odd_name=path.encode() != name)


def _select_lines(
    matches: Iterable[_FileMatch], sizes: Mapping[str, int], bounds: SnapshotBounds
) -> dict[str, tuple[int, ...]]:
    """Path → numbers of the lines that are named, in order and as far as the bounds allow."""
    lines: dict[str, tuple[int, ...]] = {}
    room, size = bounds.matches, bounds.shown_bytes
    for file, _, numbers in matches:
        if room and sizes[file.blob] <= size:
            lines[file.path] = numbers[:room]
            room -= len(lines[file.path])
            size -= sizes[file.blob]
    return lines


def _parse(lines: Sequence[str], *, is_bounded: bool) -> Iterator[BlamedLines]:
    """One by one, from ``git blame --line-porcelain``.

    :param is_bounded: whether a boundary is where looking ended; else it is the root of the history.
    """
    head: dict[str, str] = {}
    for line in lines:
        if line.startswith("\t"):
            commit = PastCommit(head["commit"], _day(head["author-time"]), head.get("summary", ""))
            yield BlamedLines(int(head["line"]), int(head["line"]), commit, is_bounded and "boundary" in head)
            head = {}
        elif not head and line:
            sha, _, number, *_ = line.split(" ")
            head = {"commit": sha, "line": number}
        elif line:
            name, _, value = line.partition(" ")
            head[name] = value


def _join(lines: Iterator[BlamedLines]) -> Iterator[BlamedLines]:
    """Joins lines in a row that one commit wrote."""
    held: BlamedLines | None = None
    for line in lines:
        if held is not None and held.commit == line.commit and held.last + 1 == line.first:
            held = BlamedLines(held.first, line.last, held.commit, held.is_older)
            continue
        if held is not None:
            yield held
        held = line
    if held is not None:
        yield held


def _day(seconds: str) -> str:
    """The day of a Unix time; commits may claim any."""
    try:
        return datetime.fromtimestamp(int(seconds), UTC).date().isoformat()
    except (ValueError, OverflowError, OSError):
        return "unknown day"
