"""Reads the history of a repository: which commits changed a file, and which one wrote a line of it.

Only the blobs of the file itself are needed, and those are fetched at once, so that a blobless mirror will do.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

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
