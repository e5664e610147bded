"""Runs programs on untrusted input in processes that can do little, at the levels this machine offers.

    1  limits      own uid when Forge is root, clean environment, resource limits: for pure parsers only
    3  bubblewrap  no network, nothing of the host but read-only system folders, seccomp: for code of others

Level 2 (Landlock) belongs between the two: a branch in ``Sandbox._command`` and an entry in ``probe``.
Figures and reasons for every flag are in the threat model.
"""

import asyncio
import contextlib
import ctypes
import errno
import os
import platform
import pwd
import shutil
import signal
import struct
import sysconfig
import tempfile
import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from pathlib import Path

from domain.errors import ToolError

LIMITS = 1
BUBBLEWRAP = 3

_SHELL = "/bin/sh"
_PATH = "/usr/local/bin:/usr/bin:/bin"
_MEGABYTE = 1 << 20
# dash and busybox call the process limit -p, bash calls it -u.
_LIMITED = (
    'ulimit -c 0; ulimit -t "$1"; ulimit -v "$2"; ulimit -f "$3"; ulimit -n 256; '
    '[ "$4" = 0 ] || ulimit -p "$4" 2>/dev/null || ulimit -u "$4"; shift 4; exec "$@"'
)


@dataclass(frozen=True)
class SandboxLevel:
    """One level of the sandbox on this machine: whether it works, and why not."""

    level: int
    name: str
    works: bool
    reason: str = ""


@dataclass(frozen=True)
class Account:
    """The unprivileged account that untrusted work runs under when Forge itself is root."""

    uid: int
    gid: int


def unprivileged_account(user: str) -> Account | None:
    """The account to drop to; None when Forge is not root and therefore cannot and need not.

    :param user: name of the account, e.g. ``nobody`` (setting ``FORGE_SANDBOX_USER``).
    :raises ToolError: there is no such account, or it is root.
    """
    if os.geteuid() != 0:
        return None
    try:
        entry = pwd.getpwnam(user)
    except KeyError:
        raise ToolError(
            f"The account {user!r} does not exist here.", "Set FORGE_SANDBOX_USER to one that does."
        ) from None
    if entry.pw_uid == 0:
        raise ToolError("FORGE_SANDBOX_USER must not be root.", "Name an unprivileged account, e.g. nobody.")
    return Account(entry.pw_uid, entry.pw_gid)


@dataclass(frozen=True)
class Command:
    """A program to run.

    :param argv: program and arguments. An absolute program path also works where the account cannot reach it.
    :param folder: its current directory. It may read it; under level 3 it is all it sees of the host's files.
    :param seconds: wall-clock limit; processor time is limited to the same.
    :param memory: address space in bytes.
    :param output: bytes kept of each of its two outputs.
    :param processes: how many processes and threads its uid may have; level 3 only, 0 means no limit.
    """

    argv: tuple[str, ...]
    folder: Path
    seconds: float = 30.0
    memory: int = 4096 * _MEGABYTE
    output: int = 32 * _MEGABYTE
    processes: int = 256


@dataclass(frozen=True)
class Output:
    """The beginning and the end of what a program printed, and how much it printed in all."""

    head: bytes
    tail: bytes
    total: int

    @property
    def is_complete(self) -> bool:
        return self.total == len(self.head) + len(self.tail)

    @property
    def data(self) -> bytes:
        """Everything that was kept, with a line that says what is missing."""
        if self.is_complete:
            return self.head + self.tail
        return self.head + b"\n[%d bytes left out]\n" % (self.total - len(self.head) - len(self.tail)) + self.tail


@dataclass(frozen=True)
class Completed:
    """How a program ended. ``status`` is None when it was stopped at its time limit or for printing far too much."""

    status: int | None
    stdout: Output
    stderr: Output
    seconds: float


class Sandbox:
    """Starts programs at a given level. Made once per process by ``Sandbox.start``."""

    def __init__(self, levels: Sequence[SandboxLevel], account: Account | None) -> None:
        self.levels = tuple(levels)
        self.account = account

    @classmethod
    async def start(cls, user: str = "nobody") -> "Sandbox":
        """Probe this machine and return its sandbox."""
        return cls(await probe(user), unprivileged_account(user))

    def strongest(self) -> SandboxLevel:
        """The highest level that works here."""
        return max((level for level in self.levels if level.works), key=lambda level: level.level)

    def why_not(self, level: int) -> str | None:
        """Why a level cannot be used here; None if it can."""
        found = next((known for known in self.levels if known.level == level), None)
        if found is None:
            return f"sandbox level {level} does not exist in this version"
        return None if found.works else found.reason

    async def run(self, command: Command, level: int) -> Completed:
        """Run a program to its end, or to its limits. No process of its group survives the call.

        :raises ToolError: the level does not work here, or the program cannot be started.
        """
        reason = self.why_not(level)
        if reason is not None:
            raise ToolError(f"Sandbox level {level} is not available: {reason}.")
        return await self.try_level(command, level)

    @contextlib.contextmanager
    def folder(self) -> Generator[Path]:
        """A temporary folder whose content the unprivileged account can read, and no other account can."""
        with tempfile.TemporaryDirectory(prefix="forge-", ignore_cleanup_errors=True) as name:
            path = Path(name).resolve()
            self._let_read(path)
            yield path

    def _let_read(self, folder: Path) -> None:
        if self.account is not None:
            os.chown(folder, 0, self.account.gid)
            folder.chmod(0o750)

    async def try_level(self, command: Command, level: int) -> Completed:
        """Run a program at a level nobody has yet found to work; only the probe has a reason to."""
        with contextlib.ExitStack() as stack:
            argv, descriptors = self._command(command, level, stack)
            outputs = [_Capture(command.output), _Capture(min(command.output, _MEGABYTE))]
            pipes = [await output.open(stack) for output in outputs]
            started = time.monotonic()
            process = await self._spawn(argv, command, descriptors, pipes)
            try:
                status = await _ended(process, outputs, command.seconds)
            finally:
                _kill_group(process.pid)
                await process.wait()
            return Completed(status, outputs[0].output(), outputs[1].output(), time.monotonic() - started)

    def _command(self, command: Command, level: int, stack: contextlib.ExitStack) -> tuple[list[str], list[int]]:
        if level == BUBBLEWRAP:
            rules = _temporary_file(seccomp_program())
            stack.callback(os.close, rules)
            inside = _limited(list(command.argv), command, command.processes)
            return [*bubblewrap(command.folder, rules), "--", *inside], [rules]
        argv = list(command.argv)
        descriptors: list[int] = []
        if not Path(argv[0]).is_absolute():
            return _limited(argv, command, 0), descriptors
        if not Path(argv[0]).is_file():
            raise ToolError(f"{argv[0]} does not exist.")
        if self.account is not None:
            # The account may not be able to walk to the program (a virtualenv in root's home), but it may execute
            # what root has opened.
            program = os.open(argv[0], os.O_RDONLY)
            stack.callback(os.close, program)
            argv[0] = f"/proc/self/fd/{program}"
            descriptors.append(program)
        return _limited(argv, command, 0), descriptors

    async def _spawn(
        self, argv: list[str], command: Command, descriptors: list[int], pipes: list[int]
    ) -> asyncio.subprocess.Process:
        account = self.account
        try:
            return await asyncio.create_subprocess_exec(
                *argv,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=pipes[0],
                stderr=pipes[1],
                cwd=command.folder,
                env=_environment(command.folder),
                pass_fds=descriptors,
                start_new_session=True,
                umask=0o077,
                user=account.uid if account else None,
                group=account.gid if account else None,
                extra_groups=[] if account else None,
            )
        except OSError as error:
            raise ToolError(f"{command.argv[0]} could not be started: {error.strerror}.") from error
        finally:
            for pipe in pipes:
                os.close(pipe)


def _environment(folder: Path) -> dict[str, str]:
    """Nothing of Forge's own environment: it holds secrets."""
    return {"PATH": _PATH, "HOME": str(folder), "LANG": "C.UTF-8", "TMPDIR": "/tmp", "NO_COLOR": "1"}


def _limited(argv: list[str], command: Command, processes: int) -> list[str]:
    seconds, kilobytes, blocks = int(command.seconds) + 1, command.memory // 1024, 64 * _MEGABYTE // 512
    return [_SHELL, "-c", _LIMITED, "sh", str(seconds), str(kilobytes), str(blocks), str(processes), *argv]


async def _ended(process: asyncio.subprocess.Process, outputs: Sequence["_Capture"], seconds: float) -> int | None:
    """The status of a program; None when its time is up or it printed far more than is kept."""
    ending = asyncio.create_task(process.wait())
    floods = [output.flooded for output in outputs]
    try:
        await asyncio.wait([ending, *floods], timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if not ending.done():
            return None
        # Someone else may hold the pipes open for ever: what has not arrived soon after the end does not count.
        await asyncio.wait([output.closed for output in outputs], timeout=1.0)
        return ending.result()
    finally:
        ending.cancel()


class _Capture(asyncio.Protocol):
    """Keeps the first and the last part of what comes through a pipe, in bounded memory.

    The pipe is ours and not asyncio's, whose ``Process.wait`` also waits for every other holder of a pipe.
    """

    def __init__(self, limit: int) -> None:
        loop = asyncio.get_running_loop()
        self.flooded: asyncio.Future[None] = loop.create_future()
        self.closed: asyncio.Future[None] = loop.create_future()
        self._half = limit // 2
        self._most = max(16 * limit, 64 * _MEGABYTE)
        self._head = bytearray()
        self._tail = bytearray()
        self._total = 0

    async def open(self, stack: contextlib.ExitStack) -> int:
        """Start to read; returns the end for the program, which the caller closes."""
        reading, writing = os.pipe()
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: self, os.fdopen(reading, "rb", 0))
        stack.callback(transport.close)
        return writing

    def data_received(self, data: bytes) -> None:
        self._total += len(data)
        room = self._half - len(self._head)
        self._head += data[:room]
        self._tail += data[max(room, 0) :]
        if len(self._tail) > 2 * self._half:
            del self._tail[: -self._half]
        if self._total > self._most and not self.flooded.done():
            self.flooded.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.closed.done():
            self.closed.set_result(None)

    def output(self) -> Output:
        kept = len(self._head) + len(self._tail)
        tail = self._tail if kept == self._total and len(self._tail) <= self._half else self._tail[-self._half :]
        return Output(bytes(self._head), bytes(tail), self._total)


def _kill_group(group: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


def tool_path(name: str) -> str:
    """Where a program that Forge depends on is installed.

    :raises ToolError: it is not.
    """
    installed = Path(sysconfig.get_path("scripts")) / name
    found = str(installed) if installed.is_file() else shutil.which(name)
    if found is None:
        raise ToolError(f"{name} is not installed.", "Install Forge's dependencies again.")
    return found


# Level 3


def bubblewrap(folder: Path, seccomp: int) -> list[str]:
    """The bubblewrap command line, up to the program.

    :param folder: what the program sees, read-only, as ``/workspace``, its current directory.
    :param seccomp: open file descriptor with a BPF program.
    """
    argv = [
        "bwrap",
        "--unshare-user",
        "--unshare-all",
        "--die-with-parent",
        "--new-session",
        "--disable-userns",
        "--cap-drop",
        "ALL",
    ]
    for path in ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/opt"):
        target = Path(path)
        if target.is_symlink():
            argv += ["--symlink", str(target.readlink()), path]
        elif target.is_dir():
            argv += ["--ro-bind", path, path]
    for path in ("/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives", "/etc/ssl"):
        argv += ["--ro-bind-try", path, path]
    for path, size in (("/tmp", 256), ("/dev/shm", 64)):
        if path == "/dev/shm":
            argv += ["--dev", "/dev"]
        argv += ["--size", str(size * _MEGABYTE), "--tmpfs", path]
    argv += ["--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys"]
    argv += ["--ro-bind", str(folder), "/workspace", "--chdir", "/workspace"]
    argv += ["--remount-ro", "/dev", "--remount-ro", "/"]
    argv += ["--clearenv", "--setenv", "PATH", _PATH, "--setenv", "HOME", "/tmp", "--setenv", "LANG", "C.UTF-8"]
    return [*argv, "--seccomp", str(seccomp)]


def _temporary_file(content: bytes) -> int:
    descriptor = os.memfd_create("forge-seccomp")
    os.write(descriptor, content)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


# What no linter needs and what most escapes start with: numbers on (x86_64, aarch64), None where it does not exist.
_FORBIDDEN: dict[str, tuple[int, int]] = {
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "setns": (308, 268),
    "unshare": (272, 97),
    "kexec_load": (246, 104),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "swapon": (167, 224),
    "reboot": (169, 142),
    "syslog": (103, 116),
    "open_by_handle_at": (304, 265),
}
_MACHINES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}
_SOCKET = (41, 198)
_CLONE3 = (435, 435)
_FAMILIES = (1, 2, 10)  # unix, inet, inet6: vsock and others are not part of a network namespace


def seccomp_program() -> bytes:
    """The BPF program for level 3: everything is allowed but ``_FORBIDDEN`` and sockets of unusual families.

    ``clone3`` answers ENOSYS, so that C libraries use ``clone``.

    :raises ToolError: this processor is not known.
    """
    machine = platform.machine()
    if machine not in _MACHINES:
        raise ToolError(f"There is no system call filter for {machine}.")
    audit, column = _MACHINES[machine]
    load, equal, at_least, give = 0x20, 0x15, 0x35, 0x06
    allow, kill = 0x7FFF0000, 0x80000000

    def refuse(number: int) -> int:
        return 0x00050000 | number

    code: list[tuple[int, int, int, int]] = [(load, 0, 0, 4), (equal, 1, 0, audit), (give, 0, 0, kill), (load, 0, 0, 0)]
    if machine == "x86_64":
        code += [(at_least, 0, 1, 0x40000000), (give, 0, 0, refuse(errno.ENOSYS))]
    for numbers in _FORBIDDEN.values():
        code += [(equal, 0, 1, numbers[column]), (give, 0, 0, refuse(errno.EPERM))]
    code += [(equal, 0, 1, _CLONE3[column]), (give, 0, 0, refuse(errno.ENOSYS))]
    code += [(equal, 0, len(_FAMILIES) + 2, _SOCKET[column]), (load, 0, 0, 16)]
    code += [(equal, len(_FAMILIES) - index, 0, family) for index, family in enumerate(_FAMILIES)]
    code += [(give, 0, 0, refuse(errno.EPERM)), (give, 0, 0, allow)]
    return b"".join(struct.pack("=HBBI", *step) for step in code)


_ATTACKS = """
[ "$(id -u)" != 0 ] || { echo "it runs as root"; exit 1; }
[ "$(grep -c : /proc/net/dev)" -le 1 ] || { echo "it sees the network"; exit 1; }
if ( : > /proc/sys/kernel/core_pattern ) 2>/dev/null; then echo "it can write kernel settings"; exit 1; fi
if ( : > /escape ) 2>/dev/null || ( : > /workspace/escape ) 2>/dev/null; then echo "it can write files"; exit 1; fi
grep -q '^Seccomp:.2' /proc/self/status || { echo "there is no system call filter"; exit 1; }
[ ! -e /root ] && [ ! -e /home ] || { echo "it sees home folders"; exit 1; }
echo contained
"""


async def probe(user: str = "nobody") -> tuple[SandboxLevel, ...]:
    """Which levels work on this machine, found out by trying, with the reason where one does not."""
    return (
        await _probed(LIMITS, "limits", "echo contained", user),
        await _probed(BUBBLEWRAP, "bubblewrap", _ATTACKS, user),
    )


async def _probed(level: int, name: str, script: str, user: str) -> SandboxLevel:
    if level == BUBBLEWRAP and shutil.which("bwrap", path=_PATH) is None:
        return SandboxLevel(level, name, works=False, reason="bubblewrap (bwrap) is not installed")
    try:
        candidate = Sandbox((), unprivileged_account(user))
        with candidate.folder() as folder:
            done = await candidate.try_level(Command((_SHELL, "-c", script), folder, seconds=10), level)
    except ToolError as error:
        return SandboxLevel(level, name, works=False, reason=error.message)
    said = (done.stdout.data + done.stderr.data).decode(errors="replace").strip()
    if done.status == 0 and said == "contained":
        return SandboxLevel(level, name, works=True)
    return SandboxLevel(level, name, works=False, reason=said[-300:] or f"it ended with status {done.status}")


# What the warm workers use of it


def die_with_parent() -> None:
    """Ask the kernel to kill this process when its parent dies, and to refuse it new privileges."""
    libc = ctypes.CDLL(None, use_errno=True)
    set_death_signal, set_no_new_privileges = 1, 38
    libc.prctl(set_death_signal, signal.SIGKILL, 0, 0, 0)
    libc.prctl(set_no_new_privileges, 1, 0, 0, 0)
