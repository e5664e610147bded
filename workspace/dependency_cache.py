"""Keeps what set-ups of default branches downloaded, by repository and key; checkouts begin with a copy.

    root
    ├── 4711            of one repository, by its number
    │   ├── tried       time and key of the last attempt to fill an entry
    │   └── KEY         an entry; its time is that of its last use
    │       ├── home    the folders of KEPT
    │       └── size    bytes
    ├── new-…           entries that are being made
    └── old-…           entries that are being removed

An entry is never changed. It is renamed into its place, and out of it, in one step, so no lock is needed: if an entry
still exists after it was copied, the copy is whole.
"""

import asyncio
import os
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from workspace.safe_copy import NotCopied, PathParts, Size, copy_folder, remove_tree
from workspace.sandbox.accounts import UnixAccount

KEPT: tuple[PathParts, ...] = tuple(
    tuple(path.split("/"))
    for path in (
        ".cache",  # of the XDG Base Directory Specification: pip, uv, poetry, go build, yarn, composer, deno
        ".npm/_cacache",
        ".local/share/pnpm/store",
        ".yarn/berry/cache",
        ".bun/install/cache",
        "go/pkg/mod",
        ".cargo/registry",
        ".cargo/git",
        ".gradle/caches",
        ".nuget/packages",
    )
)
"""The folders of a home that are kept: caches in which programs look up content by its identity.

What is installed or configured in a home is not kept: a later set-up might consider it done, and tests of a change
would run on older code.
"""
MOST = Size(1_000_000_000, 100_000)
"""The limits of an entry."""
_EACH = 2  # entries of a repository
_PAUSE = 3600  # seconds until a failed set-up may be tried again
_CRASHED = 2 * 3600  # seconds after which an unfinished folder must be left from a crash


@dataclass(frozen=True)
class CacheEntry:
    """An entry of the cache."""

    path: Path

    async def copy_to(self, home: Path, account: UnixAccount | None) -> Size:
        """Copy the entry to an empty folder, and return its size. After an error the caller removes the folder.

        :param account: owner of the copy; Forge's own account by default.
        :raises NotCopied: the entry was removed, or cannot be read.
        """
        try:
            before = self.path.stat()
            size = await copy_folder(self.path / "home", home, owner=os.geteuid(), most=MOST, account=account)
            if not os.path.samestat(before, self.path.stat()):
                raise NotCopied("it was replaced meanwhile")
        except OSError as error:
            raise NotCopied(f"it could not be read ({error.strerror})") from None
        return size


class DependencyCache:
    """All entries on this machine; several processes may share the folder.

    :param root: the folder; it is created.
    :param most_bytes: disk space for all entries; beyond it the least recently used are removed.
    :param most: the limits of one entry.
    """

    def __init__(self, root: Path, *, most_bytes: int, most: Size = MOST) -> None:
        self.root = root
        self.most_bytes = most_bytes
        self._most = Size(min(most.bytes, most_bytes), most.files)

    def find(self, repository_id: int, key: str) -> CacheEntry | None:
        """The entry, which counts as used now; None if there is none."""
        path = self._repository(repository_id) / key
        try:
            os.utime(path)
        except OSError:  # there is none, or it belongs to another account
            return None
        return CacheEntry(path)

    def may_fill(self, repository_id: int, key: str) -> bool:
        """Whether a set-up should fill the entry; if so, it counts as tried."""
        folder = self._repository(repository_id)
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        tried = folder / "tried"
        with suppress(FileNotFoundError):
            if tried.read_text() == key and time.time() - tried.stat().st_mtime < _PAUSE:
                return False
        tried.write_text(key)
        return not (folder / key).exists()

    async def keep(self, repository_id: int, key: str, home: Path, owner: int) -> Size:
        """Make an entry of a home in which nothing runs any more, and return its size.

        Nothing is kept if the repository was removed since :meth:`may_fill`, or if the entry exists already.

        :param owner: the account (uid) that wrote the home.
        :raises NotCopied: nothing is kept, because of that or because the home holds too much or what is not copied.
        """
        await asyncio.to_thread(self._sweep)
        fresh = Path(tempfile.mkdtemp(prefix="new-", dir=self.root))
        try:
            (fresh / "home").mkdir(mode=0o700)
            size = await copy_folder(home, fresh / "home", owner=owner, most=self._most, only=KEPT)
            (fresh / "size").write_text(str(size.bytes))
            await asyncio.to_thread(os.sync)  # or a crash of the machine could leave the name without the content
            _move(fresh, self._repository(repository_id) / key)
            await asyncio.to_thread(self._make_room)
        except OSError as error:
            raise NotCopied(f"it could not be written ({error.strerror})") from None
        finally:
            if fresh.exists():
                await asyncio.to_thread(remove_tree, fresh)
        return size

    async def remove(self, repository_id: int) -> None:
        """Remove all entries of a repository."""
        await asyncio.to_thread(self._discard, self._repository(repository_id))

    async def purge(self, older_than: datetime) -> int:
        """Remove the entries last used before a moment. Returns how many."""
        moment = older_than.timestamp()
        old = [entry for entry in self._by_use() if entry.used < moment]
        for entry in old:
            await asyncio.to_thread(self._discard, entry.path)
        for tried in self.root.glob("[0-9]*/tried"):
            with suppress(FileNotFoundError):
                if tried.stat().st_mtime < moment and len(list(tried.parent.iterdir())) == 1:
                    await asyncio.to_thread(self._discard, tried.parent)
        return len(old)

    def _repository(self, repository_id: int) -> Path:
        return self.root / str(repository_id)

    def _by_use(self) -> list["_Entry"]:
        """All entries, the least recently used first."""
        found: list[_Entry] = []
        for size in self.root.glob("[0-9]*/*/size"):
            with suppress(OSError):
                found.append(_Entry(size.parent.stat().st_mtime, size.parent, _number(size.read_text())))
        return sorted(found)

    def _make_room(self) -> None:
        """Remove surplus entries of each repository, and then the least recently used of all."""
        stay: Counter[Path] = Counter()
        room = self.most_bytes
        for entry in reversed(self._by_use()):
            if stay[entry.path.parent] < _EACH and entry.bytes <= room:
                stay[entry.path.parent] += 1
                room -= entry.bytes
            else:
                self._discard(entry.path)

    def _discard(self, path: Path) -> None:
        """Remove a folder; its name is free at once."""
        with suppress(FileNotFoundError):
            aside = Path(tempfile.mkdtemp(prefix="old-", dir=self.root))
            try:
                path.rename(aside / path.name)
            finally:
                remove_tree(aside)

    def _sweep(self) -> None:
        """Remove folders that a killed process left half made or half removed."""
        for path in (*self.root.glob("new-*"), *self.root.glob("old-*")):
            with suppress(FileNotFoundError):
                if path.stat().st_mtime < time.time() - _CRASHED:
                    remove_tree(path)


@dataclass(frozen=True, order=True)
class _Entry:
    """When an entry was used last (seconds since 1970), where it is, and what it takes."""

    used: float
    path: Path
    bytes: int


def _number(text: str) -> int:
    """A stored size; one that cannot be read counts as too large, so that its entry is removed."""
    return int(text) if text.isdecimal() else sys.maxsize


def _move(fresh: Path, path: Path) -> None:
    """Rename an entry into its place.

    :raises NotCopied: another process was faster, or the repository was removed meanwhile.
    """
    try:
        fresh.rename(path)
    except OSError as error:
        raise NotCopied(f"it could not be given its name ({error.strerror})") from None
