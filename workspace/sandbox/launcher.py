"""Starts one program at sandbox level 2 and watches it until it ends.

    python -I -S -c BOOT FOLDER OPTION... -- PROGRAM ARGUMENT...

The program runs in the launcher's process group and cannot leave it, so killing the group kills all that it started.
The launcher kills the group itself if Forge is gone, if there are too many processes, or if the scratch folder holds
too much. It runs before every program at level 2, so it imports almost nothing.
"""

# pathlib and contextlib would cost milliseconds.
# ruff: noqa: PTH116, PTH208, SIM105

import os
import resource
import select
import sys
from typing import NoReturn

from workspace.sandbox import landlock, privileges, seccomp

BOOT = "import sys; sys.path.append(sys.argv.pop(1)); from workspace.sandbox.launcher import main; main()"

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/opt")
"""Folders of the distribution: programs and libraries, no data and no settings."""
SYSTEM_FILES = (
    *("/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives", "/etc/ssl", "/etc/php"),
    *("/etc/maven/m2.conf", "/etc/maven/logging"),  # and not its settings, which may hold credentials
    *(f"/etc/java-{version}-openjdk" for version in (8, 11, 17, 21, 25)),
)

_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
_TICK = 25
_BACKSTOP = 16
_DEPTH = 100
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_SIGKILL = 9
_NOT_STARTED = 127


class _Plan:
    """The program to start and its limits, from the command line. All values are Forge's own."""

    def __init__(self, arguments: list[str]) -> None:
        self.account: tuple[int, int, int] | None = None
        self.limits: dict[int, int] = {}
        self.look: list[str] = []
        self.use: list[str] = []
        self.change: list[str] = []
        self.set: dict[str, str] = {}
        self.scratch = ""
        self.scratch_bytes = self.scratch_files = 0
        self.processes = 0
        self.program: int | None = None
        options = iter(arguments)
        for option in options:
            if option == "--":
                break
            self._take(*option.split("=", 1))
        self.argv = list(options)

    def _take(self, option: str, value: str) -> None:
        if option == "--account":
            uid, gid, group = value.split(":")
            self.account = int(uid), int(gid), int(group)
        elif option == "--limit":
            name, number = value.split("=")
            self.limits[int(name)] = int(number)
        elif option == "--look":
            self.look.append(value)
        elif option == "--use":
            self.use.append(value)
        elif option == "--change":
            self.change.append(value)
        elif option == "--set":
            name, self.set[name] = value.split("=", 1)
        elif option == "--scratch":
            size, files, self.scratch = value.split(":", 2)
            self.scratch_bytes, self.scratch_files = int(size), int(files)
        elif option == "--processes":
            self.processes = int(value)
        elif option == "--program":
            self.program = int(value)
        else:
            raise ValueError(option)


def main() -> NoReturn:
    """Run the launcher. Its exit status is the program's, or 128 plus the number of the signal that ended it."""
    forge = os.getppid()
    privileges.be_first_to_go()
    plan = _Plan(sys.argv[1:])
    launcher = os.getpid()
    child = os.fork()
    if child == 0:
        try:
            _become(plan, launcher)
        except OSError as error:
            os.write(2, f"{plan.argv[0]} was not started: {error.strerror}\n".encode())
        finally:
            os._exit(_NOT_STARTED)
    _watch(plan, child, forge)
    status = os.waitpid(child, 0)[1]
    os._exit(128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status))


# The program's side


def _become(plan: _Plan, launcher: int) -> NoReturn:
    """Give up all rights and become the program.

    :raises OSError: a right could not be given up, or there is no such program.
    """
    ruleset = _ruleset(plan)
    limits = plan.limits | {resource.RLIMIT_NPROC: _BACKSTOP * plan.processes + _tasks_of_account(_uid(plan))}
    if plan.account is not None:
        privileges.drop_account(*plan.account)
    privileges.renounce(launcher)
    privileges.limit(limits)
    privileges.default_signals()
    ruleset.enforce()
    own_account = plan.account is not None
    seccomp.install(seccomp.filter_for_shared(signals=ruleset.keeps_signals_inside, own_account=own_account))
    os.environ.update(plan.set)  # only now: in the launcher's own environment they could load code too early
    if plan.program is not None:
        os.execve(plan.program, plan.argv, os.environ)
    os.execvp(plan.argv[0], plan.argv)


def _ruleset(plan: _Plan) -> landlock.Ruleset:
    ruleset = landlock.Ruleset()
    for path in (*SYSTEM, *SYSTEM_FILES, *plan.use):
        ruleset.allow(path, landlock.USE)
    for path in plan.look:
        ruleset.allow(path, landlock.LOOK)
    for path in plan.change:
        ruleset.allow(path, landlock.USE | landlock.CHANGE)
    for path in (plan.scratch, *_DEVICES):
        ruleset.allow(path, landlock.LOOK | landlock.CHANGE)
    if plan.program is not None:
        ruleset.allow(plan.program, landlock.USE)
    return ruleset


def _uid(plan: _Plan) -> int:
    return plan.account[0] if plan.account else os.getuid()


def _tasks_of_account(uid: int) -> int:
    """How many processes and threads an account has: the kernel counts all of them against its limit."""
    return sum(count for owner, count in map(_tasks, _processes()) if owner == uid)


def _processes() -> list[str]:
    return list(filter(str.isdigit, os.listdir("/proc")))


def _tasks(process: str) -> tuple[int, int]:
    """(owner, number of threads) of a process; no threads if it is gone."""
    try:
        status = os.stat(f"/proc/{process}/task")
    except OSError:
        return -1, 0
    return status.st_uid, max(status.st_nlink - 2, 0)


# The launcher's side


def _watch(plan: _Plan, child: int, forge: int) -> None:
    """Wait for the child to end; kill the group earlier if it exceeds its limits or Forge is gone.

    The kernel's own process limit only matters between two checks. It counts the whole account, so it is a multiple of
    what is allowed: one program that runs wild must not keep others from starting processes.
    """
    waiting = select.poll()
    waiting.register(os.pidfd_open(child), select.POLLIN)
    looks = 0
    reserve = choose_reserve(plan.scratch)
    while not waiting.poll(_TICK):
        looks += 1
        if os.getppid() != forge:
            _stop("Forge is gone")
        if _too_many(plan.processes):
            _stop(f"it had more than {plan.processes} processes and threads")
        if looks % 8 == 0 and (why := explain_excess([plan.scratch], plan.scratch_bytes, plan.scratch_files, reserve)):
            _stop(why)


def _stop(why: str) -> None:
    os.set_blocking(2, False)
    try:
        os.write(2, f"\nStopped: {why}.\n".encode())
    except OSError:
        pass  # its output is full; it is stopped anyway
    os.killpg(0, _SIGKILL)


def _too_many(most: int) -> bool:
    mine, count = os.getpgrp(), -1  # the launcher does not count
    for process in _processes():
        try:
            if os.getpgid(int(process)) == mine:
                count += _tasks(process)[1]
        except ProcessLookupError:
            continue
    return count > most


# Disk usage, which Forge checks, too


_RESERVE = 1 << 30


def choose_reserve(folder: str) -> int:
    """How many bytes of the disk of a folder a program has to leave free: 1 GB, or half of the little that is free."""
    return min(_RESERVE, _count_free(folder) // 2)


def explain_full_disk(folder: str, reserve: int) -> str:
    """Why a program is stopped though its files may not be what fills the disk; empty if there is room.

    Nothing that it does to its files can hide them from this.
    """
    return f"less than {reserve:,} bytes were left on the disk it writes to" if _count_free(folder) < reserve else ""


def _count_free(folder: str) -> int:
    disk = os.statvfs(folder)
    return disk.f_bavail * disk.f_frsize


def describe_overflow(size: int, files: int) -> str:
    """Why a program is stopped that wrote too much."""
    return f"it left more than {size:,} bytes or {files:,} files, or a folder that cannot be looked through"


def explain_excess(folders: list[str], size: int, files: int, reserve: int) -> str:
    """Why a program is stopped for what it wrote; empty if it is not.

    :param reserve: of :func:`choose_reserve`; see :func:`too_full` for the others.
    """
    if too_full(folders, size, files):
        return describe_overflow(size, files)
    return explain_full_disk(folders[0], reserve)


def too_full(folders: list[str], size: int, files: int) -> bool:
    """Whether folders hold too much together, by allocated space; no link is followed.

    :param size: bytes they may hold.
    :param files: how many files and folders they may hold.
    """
    usage = _Usage(size, files)
    try:
        for folder in folders:
            usage.add(folder, None, 0)
    except OSError:
        return True  # not readable, or more than allowed
    return False


class _Usage:
    """What some folders may still hold."""

    def __init__(self, size: int, files: int) -> None:
        self.size = size
        self.files = files

    def add(self, folder: str, parent: int | None, depth: int) -> None:
        """Count what a folder holds; files that are gone by now do not count.

        :raises OSError: it cannot be read, or holds too much.
        """
        try:
            opened = os.open(folder, _FOLDER, dir_fd=parent)
        except (FileNotFoundError, NotADirectoryError):
            return
        try:
            with os.scandir(opened) as entries:
                for entry in entries:
                    self._take(entry, depth)
                    if entry.is_dir(follow_symlinks=False):
                        self.add(entry.name, opened, depth + 1)
        finally:
            os.close(opened)

    def _take(self, entry: "os.DirEntry[str]", depth: int) -> None:
        try:
            self.size -= entry.stat(follow_symlinks=False).st_blocks * 512
        except FileNotFoundError:
            return
        self.files -= 1
        if self.size < 0 or self.files < 0 or depth > _DEPTH:
            raise OSError("it holds too much")
