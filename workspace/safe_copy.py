"""Opens and copies what untrusted code left in a folder, through no link, and makes folders that are temporary."""

import asyncio
import contextlib
import errno
import os
import shutil
import stat
import subprocess
import tempfile
import threading
from collections.abc import Callable, Collection, Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from workspace.sandbox.accounts import UnixAccount

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY


@contextmanager
def open_folder(name: str | Path, within: int | None = None) -> Generator[int]:
    """The open folder of this name.

    :param within: the open folder in which it is.
    :raises OSError: it cannot be opened, or is something else.
    """
    opened = os.open(name, _READ | os.O_DIRECTORY, dir_fd=within)
    try:
        yield opened
    finally:
        os.close(opened)


@contextmanager
def open_folders(top: Path, names: Sequence[str]) -> Generator[int]:
    """The last one of folders within each other, opened one by one.

    :param top: the folder that holds the first of them; untrusted code cannot replace it.
    :raises OSError: one of them cannot be opened, or is something else.
    """
    with ExitStack() as stack:
        opened = stack.enter_context(open_folder(top))
        for name in names:
            opened = stack.enter_context(open_folder(name, opened))
        yield opened


@contextmanager
def open_file(name: str, within: int) -> Generator[int]:
    """What has this name in an open folder, opened to be read; the caller checks that it is a regular file.

    :raises OSError: it cannot be opened, e.g. because it is a link.
    """
    opened = os.open(name, _READ, dir_fd=within)
    try:
        yield opened
    finally:
        os.close(opened)


_MAKE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_DEPTH = 64  # folders within each other; each level keeps two of them open
_INSTALLED = "pyvenv.cfg"
"""Marks a virtual environment. Poetry and pre-commit keep theirs among downloads; installed files are not copied."""
_BLOCK = 4096  # bytes that disks allocate at once
_CHUNK = 64 << 20

PathParts = tuple[str, ...]
"""The names that lead from the folder to something in it."""


class NotCopied(Exception):
    """The folder cannot be copied; the message says why."""


@dataclass(frozen=True, slots=True)
class Size:
    """The size of a folder.

    :param bytes: as allocated on disk.
    :param files: files, folders and links.
    """

    bytes: int = 0
    files: int = 0

    def __add__(self, other: "Size") -> "Size":
        return Size(self.bytes + other.bytes, self.files + other.files)

    def exceeds(self, most: "Size") -> bool:
        """Whether bytes or files are more than allowed."""
        return self.bytes > most.bytes or self.files > most.files


async def copy_folder(
    source: Path,
    target: Path,
    *,
    owner: int,
    most: Size,
    only: Collection[PathParts] = (),
    account: UnixAccount | None = None,
) -> Size:
    """Copy the content of a folder to an empty one, and return its size.

    After an error the caller removes the target, which may be partly filled.

    :param owner: the account (uid) that must own everything that is copied.
    :param most: the limits.
    :param only: folders to copy with everything in them, if they exist; everything by default.
    :param account: owner of the copy; Forge's own account by default.
    :raises NotCopied: there is more, or something else than files, folders and links that stay inside.
    """
    copying = _Copy(owner, most, account)
    await run_to_end(lambda: copying.all(source, target, frozenset(only)), copying.stop)
    return copying.size


class _Copy:
    """One copy.

    :ivar stop: set from another thread, it ends the copy.
    """

    def __init__(self, owner: int, most: Size, account: UnixAccount | None) -> None:
        self.size = Size()
        self.stop = threading.Event()
        self._owner = owner
        self._most = most
        self._account = account

    def all(self, source: Path, target: Path, only: frozenset[PathParts]) -> None:
        with open_folder(source) as inner, open_folder(target) as outer:
            self._folder(inner, outer, (), only)

    def _folder(self, source: int, target: int, place: PathParts, only: frozenset[PathParts]) -> None:
        if len(place) > _DEPTH:
            raise NotCopied(f"it holds more than {_DEPTH} folders within each other")
        for name in os.listdir(source):
            below = (*place, name)
            # Whether a path is wanted, or leads to one that is.
            if only and not any(wanted[: len(below)] == below for wanted in only):
                continue
            try:
                self._entry(source, target, below, frozenset() if below in only else only)
            except OSError as error:
                raise NotCopied(f"{_show_place(below)} could not be read or written ({error.strerror})") from None

    def _entry(self, source: int, target: int, place: PathParts, only: frozenset[PathParts]) -> None:
        name = place[-1]
        found = os.stat(name, dir_fd=source, follow_symlinks=False)
        if only and not stat.S_ISDIR(found.st_mode):
            return  # not a folder, so nothing wanted can be below it
        if found.st_uid != self._owner:
            raise NotCopied(f"{_show_place(place)} belongs to somebody else")
        is_file = stat.S_ISREG(found.st_mode)
        self.size += Size(-(-(found.st_size if is_file else _BLOCK) // _BLOCK) * _BLOCK, 1)
        if self.size.exceeds(self._most):
            raise NotCopied(f"it holds more than {self._most.bytes:,} bytes or {self._most.files:,} files")
        if self.stop.is_set():
            raise NotCopied("it was stopped")
        if is_file:
            self._file(source, target, place, found)
        elif stat.S_ISDIR(found.st_mode):
            with ExitStack() as stack:
                inner = stack.enter_context(open_folder(name, source))
                if os.access(_INSTALLED, os.F_OK, dir_fd=inner):
                    return
                os.mkdir(name, 0o700, dir_fd=target)
                outer = stack.enter_context(open_folder(name, target))
                self._folder(inner, outer, place, only)
                self._hand_over(outer, found.st_mode)
        elif stat.S_ISLNK(found.st_mode):
            self._link(source, target, place)
        else:
            raise NotCopied(f"{_show_place(place)} is neither a file nor a folder nor a link")

    def _file(self, source: int, target: int, place: PathParts, found: os.stat_result) -> None:
        with ExitStack() as stack:
            original = stack.enter_context(open_file(place[-1], source))
            if not os.path.samestat(found, os.fstat(original)):
                raise NotCopied(f"{_show_place(place)} was replaced meanwhile")
            copy = os.open(place[-1], _MAKE, 0o600, dir_fd=target)
            stack.callback(os.close, copy)
            _copy_contents(original, copy, found.st_size)
            self._hand_over(copy, found.st_mode)
            os.utime(copy, ns=(found.st_atime_ns, found.st_mtime_ns))  # builds compare these times

    def _link(self, source: int, target: int, place: PathParts) -> None:
        leads_to = os.readlink(place[-1], dir_fd=source)
        if not _stays_inside(leads_to, len(place) - 1):
            raise NotCopied(f"{_show_place(place)} is a link that leads out")
        os.symlink(leads_to, place[-1], dir_fd=target)
        if self._account is not None:
            account = self._account
            os.chown(place[-1], account.uid, account.gid, dir_fd=target, follow_symlinks=False)

    def _hand_over(self, opened: int, mode: int) -> None:
        """Give a copy to its account, with the owner's rights. This comes last, since some become read-only."""
        if self._account is not None:
            os.fchown(opened, self._account.uid, self._account.gid)
        os.fchmod(opened, mode & stat.S_IRWXU)


def _stays_inside(leads_to: str, depth: int) -> bool:
    """Whether a link leads to something in the folder, if the links on its way do.

    ``..`` is allowed only at the beginning: after a name that is a link, it would lead up from that link's target.

    :param depth: of the folder in which the link is.
    """
    if leads_to.startswith("/"):
        return False
    steps = [step for step in leads_to.split("/") if step not in {"", "."}]
    ups = next((index for index, step in enumerate(steps) if step != ".."), len(steps))
    return ups <= depth and ".." not in steps[ups:]


def _copy_contents(original: int, copy: int, size: int) -> None:
    """Copy the content of a file; if the disk supports it, both share it until one of them is changed."""
    done = 0
    try:
        while done < size and (count := os.copy_file_range(original, copy, min(size - done, _CHUNK))):
            done += count
    except OSError:
        pass  # e.g. between two disks
    while done < size:
        count = os.sendfile(copy, original, done, min(size - done, _CHUNK))
        if not count:
            raise OSError(errno.EIO, "it became shorter")
        done += count


def _show_place(place: PathParts) -> str:
    """A path in one line of ASCII, whatever its names hold."""
    return ascii("/".join(place))[:200]


@contextlib.contextmanager
def temporary_folder(purpose: str) -> Generator[Path]:
    """A fresh folder, removed at the end with everything in it."""
    path = Path(tempfile.mkdtemp(prefix=f"{_mine()}{os.getpid()}-{purpose}-")).resolve()
    try:
        yield path
    finally:
        remove_tree(path)


def sweep() -> int:
    """Remove the folders of processes that were killed. Returns how many there were."""
    swept = 0
    for folder in Path(tempfile.gettempdir()).glob(f"{_mine()}*"):
        with contextlib.suppress(FileNotFoundError):
            owner = folder.name.removeprefix(_mine()).partition("-")[0]
            if os.geteuid() in (0, folder.lstat().st_uid) and not Path(f"/proc/{owner}").exists():
                remove_tree(folder)
                swept += 1
    return swept


def _mine() -> str:
    """The prefix of the names, with the PID namespace: process numbers are unique only within it."""
    try:
        return f"forge-{Path('/proc/self/ns/pid').stat().st_ino}-"
    except OSError:
        return "forge-0-"


def remove_tree(folder: Path) -> None:
    """Remove a folder, whatever is in it."""
    try:
        shutil.rmtree(folder)
    except (OSError, RecursionError):
        # Not accessible, or nested deeper than Python can follow. Root can access everything, and must not change the
        # rights of files that somebody else may have put there.
        commands = [["rm", "-rf"]] if os.geteuid() == 0 else [["chmod", "-R", "u+rwx"], ["rm", "-rf"]]
        for command in commands:
            subprocess.run([*command, "--", str(folder)], check=False, stderr=subprocess.DEVNULL)


async def run_to_end(work: Callable[[], None], stop: threading.Event) -> None:
    """Run this in a thread. If it is cancelled, it stops the work and waits for the thread.

    :param work: ends soon after ``stop`` is set.
    """
    task = asyncio.create_task(asyncio.to_thread(work))
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        stop.set()
        await asyncio.gather(task, return_exceptions=True)
        raise
