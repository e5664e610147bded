"""Keeps one blobless mirror per repository, and fetches the code of pull requests into it."""

import asyncio
import fcntl
import os
import re
import shutil
import tempfile
import time
from collections.abc import AsyncGenerator, Collection, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import datetime
from pathlib import Path
from urllib.parse import urlsplit
from weakref import WeakValueDictionary

from domain.errors import CodeAccessError, CommitGone
from domain.review.changes import Change
from workspace.commits import (
    BranchMoved,
    CannotCommit,
    Commits,
    Pushed,
    PushOutcome,
    parse_outcome,
)
from workspace.diff import DEFAULT, DiffLimits
from workspace.git import Git, GitOutput, TooLarge, read_stderr

GIGABYTE = 1_000_000_000

_CONFIGURATION = "[core]\n\trepositoryformatversion = 0\n\tbare = true\n"
# Only the commands that fetch or repack objects know that some may be missing. All others know of no promisor remote:
# for them a missing object is missing, so git never fetches objects one by one on its own.
_PARTIAL = {"remote.origin.promisor": "true", "remote.origin.partialclonefilter": "blob:none"}
_NOT_THERE = re.compile(r"not our ref|couldn't find remote ref|no such remote ref|unadvertised object", re.IGNORECASE)
_DENIED = re.compile(
    r"authentication failed|could not read username|repository .* not found|returned error: (?:30\d|40[134])",
    re.IGNORECASE,
)
_BROKEN = re.compile(
    r"not a git repository|corrupt|bad object|bad config|invalid sha1 pointer|is empty|inflate|could not parse|garbage"
    r"|did not send all necessary objects|missing blob object|unable to read|(?:unexpected|unterminated) line",
    re.IGNORECASE,
)


class Mirrors:
    """All mirrors of an installation of Forge; several processes may share the folder.

    :param root: the folder; it is created.
    :param most_bytes: disk space for all mirrors; beyond it the least recently used are removed.
    :param most_bytes_each: the largest pack that git may receive.
    :param seconds: the time limit of one exchange with the remote, and of waiting for another process.
    """

    def __init__(
        self,
        root: Path,
        *,
        most_bytes: int = 10 * GIGABYTE,
        most_bytes_each: int = 2 * GIGABYTE,
        seconds: float = 300,
        program: str | None = None,
    ) -> None:
        self.root = root
        self.most_bytes = most_bytes
        self.most_bytes_each = most_bytes_each
        self.seconds = seconds
        self.program = program
        self._locks: WeakValueDictionary[int, asyncio.Lock] = WeakValueDictionary()

    async def mirror(self, repository_id: int, clone_url: str, authorization: str) -> "Mirror":
        """The mirror of a repository; it is made if there is none.

        :param clone_url: http or https, without credentials.
        :param authorization: the value of an ``Authorization`` header; it is kept in memory only.
        """
        parts = urlsplit(clone_url)
        if (
            parts.scheme not in {"http", "https"}
            or not parts.hostname
            or parts.username
            or re.search(r"[\s\x00-\x1f]", clone_url)
        ):
            raise CodeAccessError("The address of the repository is not a plain http or https address.")
        mirror = Mirror(self, repository_id, clone_url, authorization)
        async with self.exclusive(repository_id) as lock:
            if not _is_whole(mirror.path):
                await self.make(mirror.path)
            os.utime(lock)
        return mirror

    async def purge(self, older_than: datetime) -> list[int]:
        """Remove the mirrors last used before a moment, but none in use. Returns repository ids."""
        old = [number for used, number in self._by_use() if used < older_than.timestamp()]
        return [number for number in old if await self.remove(number)]

    async def remove(self, repository_id: int) -> bool:
        """Remove one mirror, unless a process is changing it. Returns whether it is gone."""
        try:
            async with self.exclusive(repository_id, seconds=0):
                await self._discard(self.path(repository_id))
                self._lock_path(repository_id).unlink(missing_ok=True)
        except CodeAccessError:
            return False
        return True

    def path(self, repository_id: int) -> Path:
        return self.root / f"{repository_id}.git"

    async def make(self, path: Path) -> None:
        """Make an empty mirror and rename it into place, so that a half-made one is never found."""
        await self._discard(path)
        fresh = Path(tempfile.mkdtemp(prefix="new-", dir=self.root))
        try:
            await Git(None, program=self.program, hide=[str(self.root)]).run(
                "init", "--quiet", "--bare", "--template=", "--initial-branch=none", "--", str(fresh), cwd=self.root
            )
            (fresh / "config").write_text(_CONFIGURATION)
            fresh.rename(path)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)

    async def make_room(self) -> None:
        """Remove leftovers of crashes and, beyond the limit, the least recently used mirrors.

        Mirrors in use stay, including the caller's.
        """
        await asyncio.to_thread(self._sweep)
        total = await asyncio.to_thread(_usage, self.root)
        for _, number in self._by_use():
            if total <= self.most_bytes:
                return
            size = await asyncio.to_thread(_usage, self.path(number))
            if await self.remove(number):
                total -= size
        if total > self.most_bytes:
            raise TooLarge(
                f"The mirrors take {total:,} bytes, more than the {self.most_bytes:,} allowed.",
                "Allow more space for mirrors, or leave this repository out.",
            )

    @asynccontextmanager
    async def exclusive(self, repository_id: int, seconds: float | None = None) -> AsyncGenerator[int]:
        """Lock a mirror against other tasks and other processes. Yields the lock's file descriptor.

        git inherits the descriptor, so if Forge is killed the lock lasts until its git has ended, too.
        """
        mine = self._locks.setdefault(repository_id, asyncio.Lock())
        wait = self.seconds if seconds is None else seconds
        deadline = time.monotonic() + wait
        if seconds == 0 and mine.locked():
            raise CodeAccessError("The mirror of the repository is in use.")
        async with mine:
            self.root.mkdir(parents=True, exist_ok=True, mode=0o700)
            while (descriptor := _try_lock(self._lock_path(repository_id))) is None:
                if time.monotonic() >= deadline:
                    raise CodeAccessError(f"The mirror of the repository stayed in use for {wait:g} seconds.")
                await asyncio.sleep(0.02)
            try:
                yield descriptor
            finally:
                os.close(descriptor)

    def _lock_path(self, repository_id: int) -> Path:
        return self.root / f"{repository_id}.lock"

    def _by_use(self) -> list[tuple[float, int]]:
        """(time of last use, repository id), the oldest first."""
        found: list[tuple[float, int]] = []
        for path in self.root.glob("*.git"):
            with suppress(FileNotFoundError, ValueError):
                number = int(path.stem)
                lock = self._lock_path(number)
                found.append(((lock if lock.exists() else path).stat().st_mtime, number))
        return sorted(found)

    async def _discard(self, path: Path) -> None:
        """Remove a folder; its name is free at once."""
        if not path.exists():
            return
        aside = Path(tempfile.mkdtemp(prefix="old-", dir=self.root))
        path.rename(aside / path.name)
        await asyncio.to_thread(shutil.rmtree, aside, ignore_errors=True)

    def _sweep(self, seconds: float = 3600) -> None:
        """Remove folders that a killed process left half made or half removed."""
        for path in (*self.root.glob("new-*"), *self.root.glob("old-*")):
            with suppress(FileNotFoundError):
                if path.stat().st_mtime < time.time() - seconds:
                    shutil.rmtree(path, ignore_errors=True)


class Mirror(Commits):
    """The mirror of one repository, for one run. It has commits and trees, and fetches blobs when they are needed."""

    absent = "its content is larger than Forge fetches"
    blob_pack_bytes = 100_000_000  # limit of one request for blobs
    blob_requests = 12  # after so many, blobs that are still missing count as too large
    most_packs = 100  # if there are more, they are joined

    def __init__(self, mirrors: Mirrors, repository_id: int, clone_url: str, authorization: str) -> None:
        self.path = mirrors.path(repository_id)
        secrets = [part for part in (authorization, *authorization.split(" ")) if len(part) > 7]
        super().__init__(Git(self.path, program=mirrors.program, hide=[*secrets, str(mirrors.root)]))
        self.repository_id = repository_id
        self._mirrors = mirrors
        self._remote = {
            **_PARTIAL,
            "remote.origin.url": clone_url,
            f"http.{clone_url}.extraHeader": f"Authorization: {authorization}",
        }

    async def fetch(self, head_sha: str, base_sha: str, number: int, base_ref: str | None = None) -> None:
        """Fetch a pull request's head and base with their history, but without file contents.

        :param number: the pull request; its ``refs/pull/N/head`` is the fallback if the head cannot be fetched by its
            SHA.
        :param base_ref: the base branch, the fallback if the base cannot be fetched by its SHA.
        :raises CommitGone: the head or the base no longer exists.
        """
        wanted = {head_sha: f"refs/forge/{number}/head", base_sha: f"refs/forge/{number}/base"}
        fallbacks = [f"+refs/pull/{number}/head:{wanted[head_sha]}"]
        if base_ref:
            fallbacks.append(f"+refs/heads/{base_ref}:{wanted[base_sha]}")
        async with self._mirrors.exclusive(self.repository_id) as lock:
            missing = await self._list_missing(wanted)
            if not missing:
                return
            await self._mirrors.make_room()
            await self._prepare(lock)
            await self._fetch_commits([f"+{sha}:{wanted[sha]}" for sha in missing], fallbacks, lock)
            gone = await self._list_missing(wanted)
        if head_sha in gone:
            raise CommitGone(
                f"Commit {head_sha[:10]} is no longer part of pull request #{number}.",
                "If it was replaced by a newer push, that one is looked at instead.",
            )
        if gone:
            raise CommitGone(
                f"The base commit {base_sha[:10]} of pull request #{number} no longer exists.",
                "The base branch was rewritten: a new review compares with what it is now.",
            )

    async def fetch_default(self) -> str | None:
        """Fetch the present head of the default branch, without file contents. Returns its SHA; None if there is none.

        :raises CodeAccessError: the remote was not reached or denies access.
        """
        sha = await self._resolve("HEAD")
        if sha is None:
            return None
        async with self._mirrors.exclusive(self.repository_id) as lock:
            if await self._list_missing([sha]):
                await self._mirrors.make_room()
                await self._prepare(lock)
                await self._fetch_commits([f"+{sha}:refs/forge/default"], ["+HEAD:refs/forge/default"], lock)
        return sha

    async def change(self, merge_base: str, head: str, limits: DiffLimits = DEFAULT) -> Change:
        """The change; a mirror that proves to be damaged is removed, so that the next attempt makes a new one."""
        try:
            return await super().change(merge_base, head, limits)
        except CodeAccessError as error:
            if _BROKEN.search(read_stderr(error)):
                await self._mirrors.remove(self.repository_id)
            raise

    async def render_patch(self, base: str, head: str, most: int, paths: Sequence[str] = ()) -> str | None:
        """What ``git apply`` takes to make one commit or tree of another; None if it is longer than so many bytes.

        :param paths: only of these files.
        :raises CodeAccessError: the change cannot be read.
        """
        await self.change(base, head)  # which fetches what changed
        options = ("--no-color", "--no-ext-diff", "--no-textconv", "--no-renames", "--end-of-options")
        try:
            done = await self.git.run("--literal-pathspecs", "diff", *options, base, head, "--", *paths, most=most)
        except TooLarge:
            return None
        return done.stdout.decode(errors="replace")

    async def fetch_blobs(self, blobs: Collection[str]) -> None:
        """Fetch blobs in one request, as git's own lazy fetching does, but all at once.

        If they are too large together, each half is requested, down to single blobs.
        """
        waiting = [sorted(blobs)]
        for _ in range(self.blob_requests):
            if not waiting:
                return
            part = waiting.pop()
            try:
                await self._fetch(part, largest_file=self.blob_pack_bytes)
            except TooLarge:
                half = len(part) // 2
                waiting += [some for some in (part[:half], part[half:]) if some and len(part) > 1]

    async def list_first_parents(self, since: str, until: str, most: int) -> list[tuple[str, str]]:
        """The commits of ``until`` that ``since`` does not have, without those that merges brought; the newest first.

        :returns: (sha, subject) of each, at most ``most``.
        """
        options = ("--first-parent", f"--max-count={most}", "--format=%H%x00%s", "--end-of-options")
        listed = await self.git.run("log", *options, f"{since}..{until}")
        pairs = (line.partition("\0") for line in listed.stdout.decode(errors="replace").splitlines())
        return [(sha, subject) for sha, _, subject in pairs]

    async def first_parent(self, sha: str) -> str | None:
        """The commit that a commit of the mirror was made on; None if it is the first."""
        found = await self.git.run("rev-parse", "--verify", "--quiet", "--end-of-options", f"{sha}^1", expect=(0, 1))
        return found.stdout.decode().strip() or None

    async def push(self, sha: str, branch: str, expected: str | None) -> PushOutcome:
        """Move a branch of the remote forward to a commit, if it is still at the expected one.

        If this is repeated after a crash, a push that happened counts as pushed.

        :param expected: the branch's present head, an ancestor of ``sha``; None if the branch does not exist yet.
        :raises CannotCommit: it would not be a fast-forward, or the branch's name is invalid.
        :raises CodeAccessError: the remote was not reached or denies access; the push may have happened.
        """
        reference = f"refs/heads/{branch}"
        await self._require_pushable(sha, reference, expected)
        options = ("--porcelain", "--no-thin", "--no-verify", "--no-follow-tags", "--recurse-submodules=no")
        lease = f"--force-with-lease={reference}:{expected or ''}"
        done = await self._ask_remote("push", *options, lease, "origin", f"{sha}:{reference}", expect=(0, 1))
        result = parse_outcome(done.stdout, done.stderr)
        # If a connection breaks, curl may send the push twice, and the second one finds the branch already moved.
        if isinstance(result, BranchMoved) and await self.head_of(branch) == sha:
            return Pushed()
        return result

    async def head_of(self, branch: str) -> str | None:
        """The head of a branch of the remote; None if there is none. GitHub's API may still answer with an earlier one.

        :raises CodeAccessError: the remote was not reached or denies access.
        """
        return await self._resolve(f"refs/heads/{branch}", "--refs")

    async def _resolve(self, reference: str, *options: str) -> str | None:
        listed = await self._ask_remote("ls-remote", *options, "origin", reference)
        lines = (line.split("\t") for line in listed.stdout.decode(errors="replace").splitlines())
        return next((sha for sha, name in lines if name == reference), None)

    async def _ask_remote(self, *arguments: str, expect: Collection[int] = (0,)) -> GitOutput:
        """Run a command that asks the remote about a branch or moves it, with write access; nothing is fetched."""
        try:
            return await self.git.run(
                *arguments,
                expect=expect,
                settings={name: text for name, text in self._remote.items() if name not in _PARTIAL},
                network=True,
                seconds=self._mirrors.seconds,
            )
        except CodeAccessError as error:
            raise _explain_push(error) from error.__cause__

    async def _require_pushable(self, sha: str, reference: str, expected: str | None) -> None:
        named = await self.git.run("check-ref-format", reference, expect=(0, 1))
        if named.code != 0:
            raise CannotCommit("That is not the name of a branch.")
        if expected is None:
            return
        if not await self.follows(sha, expected):
            raise CannotCommit(f"{sha[:10]} does not follow {expected[:10]}: it would overwrite what is there.")

    async def _list_missing(self, commits: Iterable[str]) -> list[str]:
        commits = list(commits)
        try:
            here = await self.sizes(commits)
        except CodeAccessError as error:
            if not _BROKEN.search(read_stderr(error)):
                raise
            return commits
        return [sha for sha in commits if sha not in here]

    async def _fetch_commits(self, refspecs: Sequence[str], fallbacks: Sequence[str], lock: int) -> None:
        """Fetch by SHA in one request; if the remote lacks one of them, each by itself, then by name."""
        try:
            await self._fetch_or_rebuild(refspecs, lock)
        except CommitGone:
            for refspec in (*(refspecs if len(refspecs) > 1 else ()), *fallbacks):
                with suppress(CommitGone):
                    await self._fetch_or_rebuild([refspec], lock)

    async def _fetch_or_rebuild(self, refspecs: Sequence[str], lock: int) -> None:
        try:
            await self._fetch(refspecs, largest_file=self._mirrors.most_bytes_each, lock=lock)
        except CodeAccessError as error:
            if not _BROKEN.search(read_stderr(error)):
                raise
            await self._mirrors.make(self.path)
            await self._fetch(refspecs, largest_file=self._mirrors.most_bytes_each, lock=lock)

    async def _fetch(self, refspecs: Sequence[str], *, largest_file: int, lock: int | None = None) -> None:
        options = ("--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--no-auto-maintenance")
        try:
            await self.git.run(
                *("fetch", *options, "--no-show-forced-updates", "--filter=blob:none", "--stdin", "origin"),
                stdin="".join(f"{refspec}\n" for refspec in refspecs).encode(),
                settings={**self._remote, "fetch.negotiationAlgorithm": "skipping" if lock else "noop"},
                network=True,
                seconds=self._mirrors.seconds,
                largest_file=largest_file,
                keep_open=() if lock is None else (lock,),
            )
        except TooLarge:
            raise
        except CodeAccessError as error:
            raise _explain(error) from error.__cause__

    async def _prepare(self, lock: int) -> None:
        """Remove what a killed git left behind (the mirror is locked), and join packs if there are many."""
        await asyncio.to_thread(_remove_leftovers, self.path, self._mirrors.seconds)
        if await asyncio.to_thread(_count_packs, self.path) > self.most_packs:
            for command in (("repack", "-a", "-d", "-q"), ("pack-refs", "--all")):
                await self.git.run(*command, settings=_PARTIAL, seconds=self._mirrors.seconds, keep_open=(lock,))


def _explain(error: CodeAccessError) -> CodeAccessError:
    if _NOT_THERE.search(read_stderr(error)):
        return CommitGone("The remote does not have the commit.")
    if _DENIED.search(read_stderr(error)):
        return CodeAccessError(
            "GitHub did not let Forge read the repository: it is gone, was renamed, or the App lost access to it.",
            "Check that the App is installed on the repository and may read its contents.",
        )
    return error


def _explain_push(error: CodeAccessError) -> CodeAccessError:
    if _DENIED.search(read_stderr(error)):
        return CodeAccessError(
            "GitHub did not let Forge push to the repository: it is gone, was renamed, or the App may not write to it.",
            "Check that the App is installed on the repository and may write its contents.",
        )
    return error


def _is_whole(path: Path) -> bool:
    """Whether a mirror has all parts of a repository; damage inside them shows only when it is used."""
    with suppress(OSError):
        return (
            (path / "config").read_text() == _CONFIGURATION
            and (path / "HEAD").stat().st_size > 0
            and (path / "objects").is_dir()
            and (path / "refs").is_dir()
        )
    return False


def _try_lock(path: Path) -> int | None:
    """The locked descriptor of a lock file, or None if another holds it or it was just removed."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if path.stat().st_ino == os.fstat(descriptor).st_ino:
            return descriptor
    except (BlockingIOError, FileNotFoundError):
        pass
    os.close(descriptor)
    return None


def _remove_leftovers(path: Path, seconds: float) -> None:
    """Remove lock files, and temporary packs that are too old to belong to a request for blobs, which takes no lock."""
    for folder, _, names in os.walk(path):
        for name in names:
            file = Path(folder, name)
            with suppress(FileNotFoundError):
                old = file.stat().st_mtime < time.time() - 2 * seconds
                if name.endswith(".lock") or (name.startswith("tmp_") and old):
                    file.unlink()


def _count_packs(path: Path) -> int:
    return sum(1 for _ in (path / "objects" / "pack").glob("*.pack"))


def _usage(path: Path) -> int:
    """Bytes on disk below a folder."""
    total = 0
    for folder, _, names in os.walk(path):
        for name in names:
            with suppress(FileNotFoundError):
                total += Path(folder, name).lstat().st_blocks * 512
    return total
