"""Runs programs on untrusted input in restricted processes, at the levels this machine offers.

    1  limits      own account when Forge is root, clean environment, resource limits: for pure parsers only
    2  landlock    only system folders, its input and a scratch folder; no socket; no process left behind
    3  bubblewrap  the same by namespaces: no network, nothing of the host but read-only system folders

Levels 2 and 3 filter system calls and contain untrusted code. ``workspace.sandbox.probing`` finds out which of them
work here; docs/security.md says what each of them withstands.
"""

import asyncio
import contextlib
import os
import resource
import secrets
import shutil
import signal
import sys
import sysconfig
import threading
import time
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from domain.errors import ToolError
from workspace.safe_copy import temporary_folder
from workspace.sandbox import bubblewrap, registry_proxy
from workspace.sandbox.accounts import UnixAccount
from workspace.sandbox.launcher import BOOT, SYSTEM, choose_reserve, describe_overflow, explain_excess
from workspace.sandbox.processes import (
    Capture,
    Output,
    ProgramControl,
    count_files,
    list_group,
    list_processes,
    measure_work,
    wait_for_end,
    wait_for_excess,
)
from workspace.sandbox.registry_proxy import Address, Forwarder

LIMITS = 1
LANDLOCK = 2
BUBBLEWRAP = 3

_SHELL = "/bin/sh"
_GROUPS = range(61_184, 65_520)
"""Groups of which no file lasts: those that systemd lends to services (``DynamicUser``)."""
_SETPRIV = shutil.which("setpriv", path=bubblewrap.PATH)
"""That of util-linux; what busybox calls so drops to no account."""
_lent: set[int] = set()  # groups that have a folder of this process
_lending = threading.Lock()
_MEGABYTE = 1 << 20
PATIENCE = 10
"""How much longer than its processor time a tool of ours may take on a busy machine."""
_IDLE = 30.0
"""Seconds after which a tool of ours that does nothing is stopped: it waits for what never comes."""
_OUT_OF_TIME = (-signal.SIGXCPU, 128 + signal.SIGXCPU)  # level 1, and the others, which have a process around it
_LOOK = 0.2  # seconds between two checks of what a program writes; more if a check takes long
# dash and busybox call the process limit -p, bash calls it -u.
_FIRST_TO_GO = '{ echo 1000 > /proc/self/oom_score_adj; } 2>/dev/null; exec "$@"'
_LIMITED = (
    'ulimit -c 0; ulimit -S -t "$1"; ulimit -H -t $(($1 + 1)); ulimit -v "$2"; ulimit -f "$3"; ulimit -n "$4"; '
    '[ "$5" = 0 ] || ulimit -p "$5" 2>/dev/null || ulimit -u "$5"; shift 5; exec "$@"'
)


@dataclass(frozen=True)
class Attack:
    """An attack on the sandbox, and whether it was refused; None where it could not be tried."""

    name: str
    refused: bool | None


@dataclass(frozen=True)
class SandboxLevel:
    """One level of the sandbox on this machine: whether it works, why not, and what was tried."""

    level: int
    name: str
    works: bool
    reason: str = ""
    attacks: tuple[Attack, ...] = ()


@dataclass(frozen=True)
class Quota:
    """The most that all folders a program writes may hold; folders count as files, too."""

    bytes: int = 256 * _MEGABYTE
    files: int = 20_000


SCRATCH = Quota()


@dataclass(frozen=True)
class SandboxCommand:
    """A program to run.

    :param argv: program and arguments. An absolute program path works even if the account cannot reach it.
    :param folder: what it may read; above level 1 it sees no other files of the host but system folders and ``reads``.
    :param seconds: wall-clock limit.
    :param processor_seconds: processor time of each process; by default the same as ``seconds``.
    :param memory: address space of each process in bytes; not limited where ``resident`` is.
    :param resident: bytes that all its processes together may really hold; a program that exceeds them is stopped.
    :param output: bytes kept of each of its two outputs.
    :param processes: how many processes and threads it may have; not limited at level 1.
    :param reads: further folders it may read and execute from, e.g. an interpreter outside the system's folders.
    :param writable: names of folders in ``folder`` that it may change and execute from; their content is kept. The
        account must not be able to change ``folder`` itself. Not at level 1.
    :param quota: limits of the writable folders; a program that exceeds them is stopped.
    :param start: its current directory, as a path below ``folder``.
    :param file_bytes: the largest file it may write.
    :param open_files: how many files it may have open.
    :param environment: variables added to the clean environment, or replacing some of it. Secrets at level 3 only: at
        the others every account of the machine can read them in the list of processes.
    :param proxy: the only address it may reach, at ``registry_proxy.INSIDE``. Level 3 only.
    :param control: pauses it while it runs.
    :param idle_seconds: it is stopped when it neither worked nor printed anything for so long; None if it may wait.
    """

    argv: tuple[str, ...]
    folder: Path
    seconds: float = 30.0
    processor_seconds: float | None = None
    memory: int = 4096 * _MEGABYTE
    resident: int | None = None
    output: int = 32 * _MEGABYTE
    processes: int = 256
    reads: tuple[Path, ...] = ()
    writable: tuple[str, ...] = ()
    quota: Quota = SCRATCH
    start: str = ""
    file_bytes: int = 64 * _MEGABYTE
    open_files: int = 256
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    proxy: Address | None = None
    control: ProgramControl | None = None
    idle_seconds: float | None = None


@dataclass(frozen=True)
class Completed:
    """How a program ended.

    ``status`` is None if it was stopped: at its time limit, for printing far too much, for what it wrote or held in
    memory, or for doing nothing; the last line of ``stderr`` says so in the last three cases. At level 2 the launcher
    watches, too: where it stops a program first, the line is the same, and ``status`` is -9.
    """

    status: int | None
    stdout: Output
    stderr: Output
    seconds: float


class Sandbox:
    """Starts programs at a given level. Made once per process by ``workspace.sandbox.probing.make_sandbox``."""

    def __init__(
        self, levels: Sequence[SandboxLevel], account: UnixAccount | None, groups: Sequence[int] | None = None
    ) -> None:
        self.levels = tuple(levels)
        self.account = account
        self._groups = find_groups() if groups is None else groups

    def strongest(self) -> SandboxLevel:
        """The highest level that works here."""
        return max((level for level in self.levels if level.works), key=lambda level: level.level)

    def why_not(self, level: int) -> str | None:
        """Why a level cannot be used here; None if it can."""
        found = next((known for known in self.levels if known.level == level), None)
        if found is None:
            return f"sandbox level {level} does not exist in this version"
        return None if found.works else found.reason

    @staticmethod
    def path_inside(folder: Path, level: int) -> Path:
        """Where a program at some level sees its folder."""
        return bubblewrap.INSIDE if level == BUBBLEWRAP else folder

    async def run(self, command: SandboxCommand, level: int) -> Completed:
        """Run a program to its end, or to its limits. No process of its group survives the call.

        :raises ToolError: the level does not work here, or the program cannot be started.
        """
        reason = self.why_not(level)
        if reason is not None:
            raise ToolError(f"Sandbox level {level} is not available: {reason}.")
        return await self.try_level(command, level)

    @contextlib.contextmanager
    def folder(self) -> Generator[Path]:
        """A temporary folder that only Forge and what runs in it can enter.

        As root, it belongs to a group that nothing else has. So programs of one account cannot reach each other's
        folders, whose names they may know. Where this machine lends no groups, or all are lent, it belongs to the
        account's own.
        """
        with _lend_group(self._groups) as lent:
            own = 0 if self.account is None else self.account.gid
            with self._close_folder("files", own if lent is None else lent) as path:
                yield path

    @contextlib.contextmanager
    def _close_folder(self, purpose: str, group: int) -> Generator[Path]:
        with temporary_folder(purpose) as path:
            if self.account is not None:
                os.chown(path, 0, group)
                path.chmod(0o750)
            yield path

    async def run_tool(self, command: SandboxCommand, level: int) -> Completed:
        """Run a tool of ours, whose processor time is limited to ``command.seconds`` of each process.

        How busy the machine is must not decide what a review says; the wall clock only ends what waits.

        :raises ToolError: as :meth:`run`, and if it did not finish.
        """
        seconds = command.seconds
        idle = _IDLE if command.idle_seconds is None else command.idle_seconds
        patient = replace(command, seconds=PATIENCE * seconds, processor_seconds=seconds, idle_seconds=idle)
        done = await self.run(patient, level)
        name = Path(command.argv[0]).name
        if done.status is None and done.stderr.data.endswith(_explain_idle(idle).encode() + b".\n"):
            raise ToolError(f"{name} {_explain_idle(idle).removeprefix('it ')} and was stopped.")
        if done.stdout.is_complete and (done.status is None or done.status in _OUT_OF_TIME):
            raise ToolError(f"{name} did not finish within {seconds:g} seconds and was stopped.")
        return done

    async def try_level(self, command: SandboxCommand, level: int) -> Completed:
        """Run a program at a level that may not work; only the probe needs this."""
        with contextlib.ExitStack() as stack:
            start = self._start(command, level, stack)
            outputs = [Capture(command.output), Capture(min(command.output, _MEGABYTE))]
            pipes = [await output.open(stack) for output in outputs]
            started = time.monotonic()
            process = await self._spawn(start, command, pipes)
            reserve = choose_reserve(str(command.folder))
            watching = [
                asyncio.create_task(_stop_when_too_big(process.pid, command, level)),
                asyncio.create_task(_stop_when_full(process.pid, command, reserve, level)),
                asyncio.create_task(_stop_when_idle(process.pid, command, outputs, level)),
            ]
            control = command.control or ProgramControl()
            control.attach(process.pid)
            try:
                async with start.forwarder.serve() if start.forwarder else contextlib.nullcontext():
                    status = await wait_for_end(process, outputs, command.seconds)
            finally:
                control.detach()
                why = next((each.result() for each in watching if each.done()), "")
                for each in watching:
                    each.cancel()
                _kill_group(process.pid)
                await process.wait()
            done = Completed(status, outputs[0].output(), outputs[1].output(), time.monotonic() - started)
            if start.forwarder and start.forwarder.trouble:
                done = _append_line(done, start.forwarder.trouble)
            why = why or await _explain_excess(command, reserve)
            return replace(_append_line(done, f"Stopped: {why}."), status=None) if why else done

    def _start(self, command: SandboxCommand, level: int, stack: contextlib.ExitStack) -> "_Start":
        if command.writable and level == LIMITS:
            raise ToolError("Sandbox level 1 contains nothing, so no program may change files of its folder there.")
        if command.proxy and level != BUBBLEWRAP:
            raise ToolError("A program can reach its one address at sandbox level 3 only.")
        argv, program = _program(command, stack)
        if level == LANDLOCK:
            return self._start_launcher(argv, program, command, stack)
        descriptors = [] if program is None else [program]
        if program is not None:
            argv[0] = f"/proc/self/fd/{program}"
        if level != BUBBLEWRAP:
            environment = {**_environment(command.folder), **command.environment}
            return _Start(_be_first_to_go(_add_limits(argv, command, 0)), environment, descriptors, self.account)
        try:
            rules = bubblewrap.filter_file()
        except OSError as error:
            raise ToolError(f"{str(error.strerror).capitalize()}.") from error
        stack.callback(os.close, rules)
        environment, forwarder = command.environment, None
        if command.proxy is not None:
            forwarder = Forwarder(command.proxy)
            descriptors.append(forwarder.open(stack).fileno())
            argv = registry_proxy.build_command(argv, descriptors[-1])
            environment = {**environment, **command.proxy.variables}
        inside = _add_limits(argv, command, command.processes)
        variables = bubblewrap.variables_file(environment)
        stack.callback(os.close, variables)
        hosts = bubblewrap.hosts_file()
        stack.callback(os.close, hosts)
        outside = bubblewrap.command_line(
            command.folder, rules, variables, hosts, command.reads, command.writable, command.start
        )
        around = _environment(Path("/tmp"))
        # Before it starts, since inside nothing in /proc can be changed.
        argv = _be_first_to_go([*outside, "--", *inside])
        return _Start(argv, around, [*descriptors, rules, variables, hosts], self.account, forwarder)

    def _start_launcher(
        self, argv: list[str], program: int | None, command: SandboxCommand, stack: contextlib.ExitStack
    ) -> "_Start":
        """Level 2. The launcher starts under Forge's account and drops to the other one itself."""
        group = _find_group(command.folder, self.account)
        scratch = stack.enter_context(self._close_folder("scratch", group)) / "scratch"
        scratch.mkdir(0o700)
        options = [f"--limit={name}={value}" for name, value in _limits(command).items()]
        options += [f"--look={command.folder}", *(f"--use={folder}" for folder in command.reads)]
        options += [f"--change={command.folder / name}" for name in command.writable]
        options += [f"--set={name}={value}" for name, value in command.environment.items()]
        options += [f"--scratch={SCRATCH.bytes}:{SCRATCH.files}:{scratch}", f"--processes={command.processes}"]
        if program is not None:
            options.append(f"--program={program}")
        if self.account is not None:
            os.chown(scratch, self.account.uid, self.account.gid)
            options.append(f"--account={self.account.uid}:{self.account.gid}:{group}")
        root = str(Path(__file__).parents[2])
        launcher = [sys.executable, "-I", "-S", "-c", BOOT, root, *options, "--", *argv]
        return _Start(launcher, _environment(scratch, str(scratch)), [] if program is None else [program], None)

    async def _spawn(self, start: "_Start", command: SandboxCommand, pipes: list[int]) -> asyncio.subprocess.Process:
        drop, options = _drop_to(start.account, _find_group(command.folder, start.account))
        try:
            return await asyncio.create_subprocess_exec(
                *drop,
                *start.argv,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=pipes[0],
                stderr=pipes[1],
                cwd=command.folder / command.start,
                env=start.environment,
                pass_fds=start.descriptors,
                start_new_session=True,
                umask=0o077,
                **options,
            )
        except OSError as error:
            raise ToolError(f"{command.argv[0]} could not be started: {error.strerror}.") from error
        finally:
            for pipe in pipes:
                os.close(pipe)


def find_groups(mapped: str | None = None) -> Sequence[int]:
    """The groups for folders; none where a user namespace does not have them, as in some containers.

    :param mapped: the content of ``/proc/self/gid_map``: first group inside, outside, and how many, in each line.
    """
    try:
        lines = (Path("/proc/self/gid_map").read_text() if mapped is None else mapped).splitlines()
    except OSError:
        return _GROUPS  # no Linux, so no namespace
    ranges = [(int(first), int(first) + int(count)) for first, _, count in map(str.split, lines)]
    return [group for group in _GROUPS if any(first <= group < end for first, end in ranges)]


@contextlib.contextmanager
def _lend_group(groups: Sequence[int]) -> Generator[int | None]:
    """A group that no other folder of this process has meanwhile, and one of another process hardly; None if none is
    left."""
    with _lending:
        free = [group for group in groups if group not in _lent]
        group = secrets.choice(free) if free else None
        if group is not None:
            _lent.add(group)
    try:
        yield group
    finally:
        with _lending:
            _lent.discard(-1 if group is None else group)


def _drop_to(account: UnixAccount | None, group: int) -> tuple[list[str], dict[str, Any]]:
    """What lets a process run as an account: the words before its own, or what ``subprocess`` is told.

    ``subprocess`` does it in a fork, which stops all of Forge until its memory map is copied: 60 ms at 400 MB.
    """
    if account is None:
        return [], {}
    if _SETPRIV is None or Path(_SETPRIV).resolve().name != "setpriv":
        return [], {"user": account.uid, "group": account.gid, "extra_groups": [group]}
    return [_SETPRIV, f"--reuid={account.uid}", f"--regid={account.gid}", f"--groups={group}", "--"], {}


def _find_group(folder: Path, account: UnixAccount | None) -> int:
    """The group that may enter a folder of :meth:`Sandbox.folder`, or what is in it; else the account's own."""
    groups = [each.stat().st_gid for each in (folder, *folder.parents)]
    own = 0 if account is None else account.gid
    return next((group for group in groups if group in _GROUPS), own)


@dataclass(frozen=True)
class _Start:
    """A process to start, with its environment, its open files, and its account (None: Forge's own)."""

    argv: list[str]
    environment: dict[str, str]
    descriptors: list[int]
    account: UnixAccount | None
    forwarder: Forwarder | None = None


def _program(command: SandboxCommand, stack: contextlib.ExitStack) -> tuple[list[str], int | None]:
    """The command, and its program as an open file if it lies outside the system's folders.

    The account may not be able to reach it (a virtualenv in root's home), and level 3 does not show it, but an open
    file can be executed.

    :raises ToolError: there is no such program.
    """
    argv = list(command.argv)
    path = Path(argv[0])
    if not path.is_absolute():
        return argv, None
    if not path.is_file():
        raise ToolError(f"{argv[0]} does not exist.")
    if any(path.is_relative_to(folder) for folder in (*SYSTEM, *command.reads)):
        return argv, None
    program = os.open(path, os.O_RDONLY)
    stack.callback(os.close, program)
    return argv, program


def _environment(home: Path, temporary: str = "/tmp") -> dict[str, str]:
    """A clean environment: Forge's own holds secrets."""
    return {"PATH": bubblewrap.PATH, "HOME": str(home), "LANG": "C.UTF-8", "TMPDIR": temporary, "NO_COLOR": "1"}


def _round_processor_seconds(command: SandboxCommand) -> int:
    return int(command.seconds if command.processor_seconds is None else command.processor_seconds) + 1


def _limits(command: SandboxCommand) -> dict[int, int]:
    return {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_CPU: _round_processor_seconds(command),
        **({resource.RLIMIT_AS: command.memory} if command.resident is None else {}),
        resource.RLIMIT_FSIZE: command.file_bytes,
        resource.RLIMIT_NOFILE: command.open_files,
    }


def _add_limits(argv: list[str], command: SandboxCommand, processes: int) -> list[str]:
    space = command.memory // 1024 if command.resident is None else "unlimited"
    sizes = (space, command.file_bytes // 512)
    numbers = (_round_processor_seconds(command), *sizes, command.open_files, processes)
    return [_SHELL, "-c", _LIMITED, "sh", *map(str, numbers), *argv]


def _be_first_to_go(argv: list[str]) -> list[str]:
    """The program, killed before others when the machine runs out of memory."""
    return [_SHELL, "-c", _FIRST_TO_GO, "sh", *argv]


async def _stop_when_full(group: int, command: SandboxCommand, reserve: int, level: int) -> str:
    """Kill a group of processes as soon as its folders hold too much, and tell why. Never returns before that."""
    pause = _LOOK
    while True:
        await asyncio.sleep(pause)
        started = time.monotonic()
        why = await _explain_excess(command, reserve)
        if not why and level == BUBBLEWRAP:
            files = await asyncio.to_thread(lambda: count_files(list_processes(group), bubblewrap.IN_MEMORY))
            why = describe_overflow(command.quota.bytes, command.quota.files) if files > command.quota.files else ""
        if why:
            _kill_group(group)
            return why
        pause = max(_LOOK, time.monotonic() - started)


async def _stop_when_too_big(group: int, command: SandboxCommand, level: int) -> str:
    """Kill a group of processes as soon as it holds too much memory, and tell so. Never returns before that."""
    if command.resident is None:
        return await asyncio.get_running_loop().create_future()
    # At level 3 a process without a parent gets one inside; at the others nobody leaves the group.
    members = list_processes if level == BUBBLEWRAP else list_group
    why = await wait_for_excess(partial(members, group), command.resident)
    _kill_group(group)
    return why


async def _stop_when_idle(group: int, command: SandboxCommand, outputs: Sequence[Capture], level: int) -> str:
    """Kill a group of processes that does nothing for too long, and tell so. Never returns before that."""
    longest = command.idle_seconds
    if longest is None or not Path("/proc/self/stat").exists():
        return await asyncio.get_running_loop().create_future()
    seen: object = None
    since = time.monotonic()
    while time.monotonic() - since < longest:
        await asyncio.sleep(longest / 10)
        # The launcher of level 2 looks after the program all the time.
        done = await asyncio.to_thread(measure_work, group, counts_itself=level != LANDLOCK)
        now = (done, [output.total for output in outputs])
        if now != seen:
            seen, since = now, time.monotonic()
    _kill_group(group)
    return _explain_idle(longest)


def _explain_idle(seconds: float) -> str:
    return f"it did nothing for {seconds:g} seconds"


async def _explain_excess(command: SandboxCommand, reserve: int) -> str:
    folders = [str(command.folder / name) for name in command.writable]
    if not folders:
        return ""
    return await asyncio.to_thread(explain_excess, folders, command.quota.bytes, command.quota.files, reserve)


def _append_line(done: Completed, sentence: str) -> Completed:
    """The result with a sentence of ours as the last line of ``stderr``."""
    line = f"\n{sentence}\n".encode()
    return replace(done, stderr=replace(done.stderr, tail=done.stderr.tail + line, total=done.stderr.total + len(line)))


def _kill_group(group: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


def tool_path(name: str) -> str:
    """The path of a program that Forge depends on.

    :raises ToolError: it is not installed.
    """
    installed = Path(sysconfig.get_path("scripts")) / name
    found = str(installed) if installed.is_file() else shutil.which(name)
    if found is None:
        raise ToolError(f"{name} is not installed.", "Install Forge's dependencies again.")
    return found
