"""Keeps what set-ups of default branches downloaded, by repository and key, for checkouts to begin with a copy of it.

    root
    ├── 4711            of one repository, by its number
    │   ├── tried       when a set-up was last run to fill an entry, and which
    │   └── KEY         an entry; its time is that of its last use
    │       ├── home    the folders of KEPT
    │       └── size    bytes
    ├── new-…           entries that are being made
    └── old-…           what is being removed

An entry is never changed. It comes under its name, and goes from it, in one move, so no lock is needed: who copied it
looks whether it is still there, and if it is, the copy is whole.
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

from workspace.safe_copy import NotCopied, PathParts, Size, copy_folder
from workspace.sandbox.sandbox import UnixAccount
from workspace.temporary import remove_tree

KEPT: tuple[PathParts, ...] = tuple(
    tuple(path.split("/"))
    for path in (
        ".cache",  # where the XDG Base Directory Specification has it: pip, uv, poetry, go build, yarn, composer, deno
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
"""Folders of a home that are kept: those in which programs look up what they have by what it is.

What is installed or configured in a home is not among them. A later set-up might take it for done, and tests of a
change would run on the code before it.
"""
MOST = Size(1_000_000_000, 100_000)
"""What an entry may hold."""
_EACH = 2  # entries of a repository
_PAUSE = 3600  # seconds until a set-up that came to nothing may be tried again
_CRASHED = 2 * 3600  # seconds after which nobody makes or removes a folder any more


@dataclass(frozen=True)
class CacheEntry:
    """An entry."""

    path: Path

    async def copy_to(self, home: Path, account: UnixAccount | None) -> Size:
        """Copy it to an empty folder, and say how much it was. Who gets an error removes the folder.

        :param account: whose the copy is to be; by default ours.
        :raises NotCopied: it was removed, or cannot be read.
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
    :param most_bytes: what all entries may take; the least recently used are removed beyond it.
    :param most: what one may hold.
    """

    def __init__(self, root: Path, *, most_bytes: int, most: Size = MOST) -> None:
        self.root = root
        self.most_bytes = most_bytes
        self._most = Size(min(most.bytes, most_bytes), most.files)

    def find(self, repository_id: int, key: str) -> CacheEntry | None:
        """An entry, which counts as used now."""
        path = self._repository(repository_id) / key
        try:
            os.utime(path)
        except OSError:  # there is none, or another account's
            return None
        return CacheEntry(path)

    def may_fill(self, repository_id: int, key: str) -> bool:
        """Whether a set-up should be run to make an entry, which then counts as tried."""
        folder = self._repository(repository_id)
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        tried = folder / "tried"
        with suppress(FileNotFoundError):
            if tried.read_text() == key and time.time() - tried.stat().st_mtime < _PAUSE:
                return False
        tried.write_text(key)
        return not (folder / key).exists()

    async def keep(self, repository_id: int, key: str, home: Path, owner: int) -> Size:
        """Make an entry of a home in which nothing runs any more; how much it holds.

        Nothing is kept of a repository that was removed since :meth:`may_fill`, nor beside an entry of that key.

        :param owner: the account (uid) that wrote it.
        :raises NotCopied: it holds too much, or what is not copied.
        """
        await asyncio.to_thread(self._sweep)
        fresh = Path(tempfile.mkdtemp(prefix="new-", dir=self.root))
        try:
            (fresh / "home").mkdir(mode=0o700)
            size = await copy_folder(home, fresh / "home", owner=owner, most=self._most, only=KEPT)
            (fresh / "size").write_text(str(size.bytes))
            await asyncio.to_thread(os.sync)  # or the machine could go down with the name written, and not the content
            _move(fresh, self._repository(repository_id) / key)
            await asyncio.to_thread(self._make_room)
        except OSError as error:
            raise NotCopied(f"it could not be written ({error.strerror})") from None
        finally:
            if fresh.exists():
                await asyncio.to_thread(remove_tree, fresh)
        return size

    async def remove(self, repository_id: int) -> None:
        """Remove all of a repository."""
        await asyncio.to_thread(self._discard, self._repository(repository_id))

    async def purge(self, older_than: datetime) -> int:
        """Remove the entries last used before a moment; how many."""
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
        """All entries, the one used last at the end."""
        found: list[_Entry] = []
        for size in self.root.glob("[0-9]*/*/size"):
            with suppress(OSError):
                found.append(_Entry(size.parent.stat().st_mtime, size.parent, _number(size.read_text())))
        return sorted(found)

    def _make_room(self) -> None:
        """Remove what a repository has too many of, and then the least recently used of all."""
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
        """Remove folders that a killed process was making or removing."""
        for path in (*self.root.glob("new-*"), *self.root.glob("old-*")):
            with suppress(FileNotFoundError):
                if path.stat().st_mtime < time.time() - _CRASHED:
                    remove_tree(path)


@dataclass(frozen=True, order=True)
class _Entry:
    """An entry as room is made: when it was used last (seconds since 1970), and what it takes."""

    used: float
    path: Path
    bytes: int


def _number(text: str) -> int:
    """A size that was noted; more than there is room for, so that its entry goes, if it cannot be read."""
    return int(text) if text.isdecimal() else sys.maxsize


def _move(fresh: Path, path: Path) -> None:
    """Give an entry its name.

    :raises NotCopied: another process was faster, or the repository was removed meanwhile.
    """
    try:
        fresh.rename(path)
    except OSError as error:
        raise NotCopied(f"it could not be given its name ({error.strerror})") from None
