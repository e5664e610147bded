"""Landlock: lets a process give up files, TCP ports, signals and abstract sockets for good.

It uses the three system calls of landlock(7), by number. The launcher of level 2 imports this before every program it
starts, so it imports almost nothing itself.
"""

import ctypes
import errno
import os
import stat
import struct

_CREATE, _ADD, _RESTRICT = 444, 445, 446
_PATH_BENEATH = 1
_FILE_RIGHTS = 0xC007  # execute, write, read, truncate, ioctl: the rights that a file can have

LOOK = 0x000C
"""Read files and list folders."""
USE = LOOK | 0x0001
"""Read files, list folders, and execute files."""
CHANGE = 0xFFFE
"""Everything but execute."""

_libc = ctypes.CDLL(None, use_errno=True)


class Ruleset:
    """The rights that a process keeps when it gives up everything else.

    :raises OSError: the kernel has no Landlock, or it is switched off.
    """

    def __init__(self) -> None:
        self.version = version()
        self._rights = _rights(self.version)
        network = 3 if self.version >= 4 else 0
        scopes = 3 if self.version >= 6 else 0
        size = 24 if self.version >= 6 else 16 if self.version >= 4 else 8
        attributes = struct.pack("=QQQ", self._rights, network, scopes)[:size]
        self._ruleset = _check(_libc.syscall(_CREATE, attributes, size, 0))

    @property
    def keeps_signals_inside(self) -> bool:
        """Whether a confined process can signal only what it started itself."""
        return self.version >= 6

    def allow(self, path: str | int, rights: int) -> None:
        """Keep these rights on a file, or on a folder and all below. A path that does not exist is ignored.

        :param path: a path, or an open file.
        """
        try:
            opened = path if isinstance(path, int) else os.open(path, os.O_PATH | os.O_CLOEXEC)
        except (FileNotFoundError, PermissionError, NotADirectoryError):
            return
        try:
            rights &= self._rights
            if not stat.S_ISDIR(os.fstat(opened).st_mode):
                rights &= _FILE_RIGHTS
            rule = struct.pack("=Qi", rights, opened)
            _check(_libc.syscall(_ADD, self._ruleset, _PATH_BENEATH, rule, 0))
        finally:
            if opened is not path:
                os.close(opened)

    def enforce(self) -> None:
        """Give up everything else, for the calling thread and all it starts. This cannot be undone.

        The process must have renounced new privileges before.
        """
        _check(_libc.syscall(_RESTRICT, self._ruleset, 0))
        os.close(self._ruleset)


def version() -> int:
    """The version of Landlock in this kernel (its ABI).

    :raises OSError: there is none, or it cannot be used.
    """
    ask = 1
    found = _libc.syscall(_CREATE, None, 0, ask)
    if found >= 1:
        return found
    number = ctypes.get_errno()
    if number == errno.EOPNOTSUPP:
        raise OSError(number, "Landlock is switched off in this kernel (its boot option lsm= leaves it out)")
    if number == errno.ENOSYS:
        raise OSError(number, "this kernel has no Landlock (Linux has it since 5.13)")
    raise OSError(number, f"Landlock cannot be used here ({os.strerror(number)})")


def _rights(version: int) -> int:
    """Every right over files that a version of Landlock knows."""
    known = {1: 13, 2: 14, 3: 15, 4: 15}.get(version, 16)
    return (1 << known) - 1


def _check(answer: int) -> int:
    if answer < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"Landlock cannot be used here ({os.strerror(number)})")
    return answer
