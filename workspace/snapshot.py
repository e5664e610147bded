"""Reads and searches the files of one commit in a repository, within bounds; nothing is checked out.

The bounds count what a commit holds, not which objects are local: the same question gets the same answer, whether or
not blobs had to be fetched.
"""

import asyncio
import copy
import re
import tempfile
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from domain.errors import CodeAccessError
from workspace.diff import LINK, MODULE, REGULAR, to_printable
from workspace.git import MEGABYTE, GitOutput, TooLarge
from workspace.history import History
from workspace.objects import Objects

_BINARY_WITHIN = 8_000  # bytes in which git also looks for a NUL
# git searches, not Python: as a process of its own it has limits on time and memory, which end a pattern that takes too
# long, and no worker needs the contents. Every option is fixed here, the pattern follows -e, and -P is never used,
# because it backtracks.
_GREP = ("grep", "--threads=1", "-I", "--no-textconv", "--no-color", "--no-recurse-submodules", "--no-ext-grep")
_ANY = range(-64, 256)
_EXHAUSTED = re.compile(r"memory", re.IGNORECASE)
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
        self._git = copy.copy(objects.git)
        self._git.memory = bounds.memory
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
        if b"\0" in content[:_BINARY_WITHIN]:
            raise CannotRead(f"{path} is a binary file and holds no text to read. Do without it.")
        return content

    async def search(
        self, pattern: str, paths: Collection[str], *, fixed: bool = False, ignore_case: bool = False
    ) -> SearchResult:
        """The lines that match in text files.

        :param pattern: an extended regular expression (POSIX, as ``grep -E``), matched byte by byte within a line.
        :param paths: of ``files``; only these are searched.
        :param fixed: the pattern is the text itself.
        :param ignore_case: of the letters A to Z.
        :raises CannotRead: the pattern is invalid or takes too long, or there is too much to search.
        :raises CodeAccessError: the files could not be fetched.
        """
        files = [self.files[path] for path in sorted(paths) if not self.files[path].obstacle]
        sizes = await self._searchable(files)
        within = [file for file in files if file.blob in sizes]
        options = (*_options(fixed, ignore_case), "-e", pattern)
        counts = {file.path: int(rest) for file, rest in await self._grep(within, "--count", *options)}
        lines = await self._lines(_select_shown(within, counts, sizes, self.bounds), options)
        contents = await self._contents([self.files[path] for path in lines])
        return _without_phantoms(SearchResult(counts, lines, contents, len(files) - len(within)))

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

    async def _lines(self, files: Sequence[SnapshotFile], options: Sequence[str]) -> dict[str, tuple[int, ...]]:
        """Path → numbers of the first lines that match."""
        each = f"--max-count={self.bounds.matches_each}"
        found: dict[str, tuple[int, ...]] = {}
        for file, rest in islice(await self._grep(files, "--line-number", each, *options), self.bounds.matches):
            found[file.path] = (*found.get(file.path, ()), int(rest.partition(b":")[0]))
        return found

    async def _grep(self, files: Sequence[SnapshotFile], *options: str) -> list[tuple[SnapshotFile, bytes]]:
        """What git grep prints about each file, line by line.

        git sees the files under numbers, in a temporary tree: no name can be taken for an option or confuse the output,
        no attribute applies, and nothing outside that tree can be found.
        """
        if not files:
            return []
        with tempfile.TemporaryDirectory(prefix="forge-") as objects:
            environment = {
                "GIT_OBJECT_DIRECTORY": objects,
                "GIT_ALTERNATE_OBJECT_DIRECTORIES": f"{self._git.repository}/objects",
            }
            made = await self._git.run("mktree", "--missing", stdin=_number_blobs(files), environment=environment)
            tree = made.stdout.decode().strip()
            done = await self._search(*_GREP, *options, tree, "--", environment=environment)
        printed = (line.split(b":", 2) for line in done.stdout.split(b"\n")[:-1])
        return [(files[int(number)], rest) for _, number, rest in printed]

    async def _search(self, *arguments: str, environment: Mapping[str, str]) -> GitOutput:
        """Run a search.

        :raises CannotRead: it takes too long, prints too much, or fails; see :func:`_result`.
        """
        seconds = self.bounds.seconds
        try:
            async with self._one_at_a_time, asyncio.timeout(seconds):
                done = await self._git.run(*arguments, environment=environment, expect=_ANY, seconds=2 * seconds)
        except TimeoutError:
            raise CannotRead(f"The search took longer than {seconds:g} seconds and was ended. {_SIMPLER}") from None
        except TooLarge:
            raise CannotRead(f"The search printed too much. {_SIMPLER}") from None
        return _result(done)


def _without_phantoms(found: SearchResult) -> SearchResult:
    """Without the line after the last one, which git reports if a pattern matches the empty text (``^$``)."""
    lines = {path: tuple(n for n in found.lines[path] if n <= _length(text)) for path, text in found.contents.items()}
    counts = {path: n - len(found.lines.get(path, ())) + len(lines.get(path, ())) for path, n in found.counts.items()}
    counts = {path: number for path, number in counts.items() if number}
    return replace(found, counts=counts, lines={path: numbers for path, numbers in lines.items() if numbers})


def _length(content: bytes) -> int:
    """The number of lines."""
    return content.count(b"\n") + (content[-1:] not in {b"", b"\n"})


def _result(done: GitOutput) -> GitOutput:
    """The output of a search that ended.

    :raises CannotRead: git did not understand the pattern, or the search took too much memory.
    """
    if done.code in {0, 1}:
        return done
    fatal = next((line for line in done.stderr.splitlines() if line.startswith("fatal: ")), "")
    if done.code < 0 or _EXHAUSTED.search(fatal):
        raise CannotRead(f"The search took too much memory. {_SIMPLER}")
    if fatal.startswith("fatal: -e option, "):
        reason = fatal.rpartition("': ")[2]
        raise CannotRead(f"grep -E does not understand the pattern ({reason}). Search a fixed text with fixed=true.")
    raise CodeAccessError(f"git grep failed ({fatal[:300] or f'exit code {done.code}'}).")


def _parse_entries(listed: bytes) -> dict[str, SnapshotFile]:
    """The entries of ``ls-tree -z``. An odd name never hides an ordinary one with the same printable form."""
    entries = sorted(map(_entry, listed.split(b"\0")[:-1]), key=lambda file: (file.path, not file.has_odd_name))
    return {file.path: file for file in entries}


def _entry(line: bytes) -> SnapshotFile:
    meta, _, name = line.partition(b"\t")
    mode, _, blob = meta.decode().split(" ")
    path = to_printable(name)
    return SnapshotFile(path, mode, blob, has_odd_name=path.encode() != name)


def _options(fixed: bool, ignore_case: bool) -> tuple[str, ...]:
    return ("--fixed-strings" if fixed else "--extended-regexp", *(["--ignore-case"] if ignore_case else []))


def _number_blobs(files: Iterable[SnapshotFile]) -> bytes:
    """Input for ``mktree``: each blob under its number."""
    return b"".join(b"100644 blob %s\t%06d\n" % (file.blob.encode(), i) for i, file in enumerate(files))


def _select_shown(
    files: Iterable[SnapshotFile], counts: Mapping[str, int], sizes: Mapping[str, int], bounds: SnapshotBounds
) -> list[SnapshotFile]:
    """The files whose matching lines are named, in order and as far as the bounds allow."""
    shown: list[SnapshotFile] = []
    lines = size = 0
    for file in files:
        if file.path not in counts or lines >= bounds.matches or size + sizes[file.blob] > bounds.shown_bytes:
            continue
        shown.append(file)
        lines += min(counts[file.path], bounds.matches_each)
        size += sizes[file.blob]
    return shown
