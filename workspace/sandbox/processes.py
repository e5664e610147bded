"""Looks after a program in the sandbox with all that it started: its memory, what it prints, and how to pause it.

Engines of JavaScript, Go and Java reserve far more address space than they ever use, so that says nothing of memory.

The kernel stops the processes (SIGSTOP), so no program can refuse, and none that is stopped can wake another.
"""

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import AsyncGenerator, Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from domain.errors import ToolError

TICKS = os.sysconf("SC_CLK_TCK")
"""Of processor time in a second, as the kernel counts it."""


_LOOK = 0.05  # seconds between two looks: a second is enough for gigabytes
_RESERVE = 512 << 20
_OWN = ("RssAnon:", "VmPTE:")


def measure_available() -> int | None:
    """Bytes that the machine can still give; None if it does not tell."""
    return _read_machine().get("MemAvailable")


def measure_shared() -> int:
    """Bytes that the machine holds in memory that may be shared, with all that is swapped out."""
    machine = _read_machine()
    return machine.get("Shmem", 0) + machine.get("SwapTotal", 0) - machine.get("SwapFree", 0)


def _read_machine() -> dict[str, int]:
    """The sizes that the machine tells, in bytes; none if it does not."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:  # noqa: PTH123
            return {words[0].rstrip(":"): int(words[1]) << 10 for words in map(str.split, file)}
    except OSError:
        return {}


def holds_too_much(processes: Collection[int], most: int, grown: int) -> bool:
    """Whether processes hold more bytes together: their own pages, in memory or swapped out, and the tables of their
    pages.

    Memory that several of them share counts once, as the largest of them maps it. Files do not count: the kernel drops
    them when it needs room.

    Of memory that is shared and has no file the kernel tells for no process how much it holds: it is there until the
    last one maps none of it, though all of them gave it back. So to who maps such memory counts all by which the
    machine's grew.

    :param grown: by how much more the machine holds of shared memory than at the least since they were started.
    """
    own, swapped, shared = 0, 0, 0
    for process in processes:
        fields = _read_status(process)
        own += sum(fields.get(key, 0) for key in _OWN) << 10
        swapped += fields.get("VmSwap:", 0) << 10
        shared = max(shared, fields.get("RssShmem:", 0) << 10)
    if own + swapped + shared > most:
        return True
    return own + grown > most and any(map(_maps_shared_memory, processes))


def _maps_shared_memory(process: int) -> bool:
    """Whether a process maps memory that is shared and has no file; also if it does not let that be seen."""
    try:
        with open(f"/proc/{process}/maps", "rb") as file:  # noqa: PTH123
            return any(words[1].endswith(b"s") and words[-2:-1] == [b"/dev/zero"] for words in map(bytes.split, file))
    except (FileNotFoundError, ProcessLookupError):
        return False
    except OSError:
        return True


async def wait_for_excess(members: Callable[[], Iterable[int]], most: int) -> str:
    """Wait until a program holds too much memory; why it is to be stopped.

    So it is if the machine runs out of memory, as nothing that it does can hide memory from this: if less than half a
    gigabyte is left, or than a quarter of the little there was.

    :param members: lists its processes.
    :param most: bytes.
    """
    reserve = min(_RESERVE, (measure_available() or 0) // 4)
    least = measure_shared()
    while True:
        await asyncio.sleep(_LOOK)
        least = min(least, measure_shared())  # another program may have held some of it, and given it back
        if why := await asyncio.to_thread(_explain_excess, members, most, reserve, least):
            return why


def _explain_excess(members: Callable[[], Iterable[int]], most: int, reserve: int, least: int) -> str:
    if holds_too_much([*members()], most, measure_shared() - least):
        return f"it held more than {most:,} bytes of memory"
    available = measure_available()
    if available is not None and available < reserve:
        return f"less than {reserve:,} bytes of memory were left on the machine"
    return ""


def count_files(processes: Iterable[int], folders: Iterable[str]) -> int:
    """How many files folders hold that are only in the memory of processes, each with a file system of its own.

    The size of such a file system says nothing of empty files, for which the kernel takes a kilobyte each.

    :returns: 0 where none of the processes lets that be seen.
    """
    own = Path("/proc/self/ns/mnt").stat().st_ino
    for process in processes:
        with suppress(OSError):
            if Path(f"/proc/{process}/ns/mnt").stat().st_ino != own:
                disks = [os.statvfs(f"/proc/{process}/root{folder}") for folder in folders]
                return sum(disk.f_files - disk.f_ffree for disk in disks)
    return 0


def _read_status(process: int) -> dict[str, int]:
    """The sizes in the status of a process, in kilobytes; none if it is gone."""
    try:
        with open(f"/proc/{process}/status", "rb") as file:  # noqa: PTH123
            lines = file.read().decode(errors="replace").splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return {}
    return {words[0]: int(words[1]) for words in map(str.split, lines) if len(words) == 3 and words[2] == "kB"}


@dataclass(frozen=True)
class Output:
    """The beginning and the end of what a program printed, and its total size in bytes."""

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


_MEGABYTE = 1 << 20


class Capture(asyncio.Protocol):
    """Keeps the beginning and the end of what comes through a pipe, in bounded memory.

    The pipe is our own: with a pipe of asyncio, ``Process.wait`` also waits for every other process that holds it.
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
        """Start to read. Returns the program's end of the pipe, which the caller closes."""
        reading, writing = os.pipe()
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: self, os.fdopen(reading, "rb", 0))
        stack.callback(transport.close)
        return writing

    @property
    def total(self) -> int:
        """Bytes printed so far."""
        return self._total

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


async def wait_for_end(process: asyncio.subprocess.Process, outputs: Sequence[Capture], seconds: float) -> int | None:
    """The status of a program; None if it ran out of time or printed far more than is kept."""
    ending = asyncio.create_task(process.wait())
    floods = [output.flooded for output in outputs]
    try:
        await asyncio.wait([ending, *floods], timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if not ending.done():
            return None
        # Another process may hold the pipes open for ever, so what arrives later than this does not count.
        await asyncio.wait([output.closed for output in outputs], timeout=1.0)
        return ending.result()
    finally:
        ending.cancel()


class NotPaused(ToolError):
    """Some process did not stop in time."""


_PAUSE_S = 0.001
_STOPPED = frozenset("TtZXx")  # states of a thread that does nothing: stopped, traced, ended
_WAITING = _STOPPED | {"D"}  # or waits in the kernel


class ProgramControl:
    """Pauses the program that it is given to; see :class:`workspace.sandbox.sandbox.SandboxCommand`."""

    def __init__(self) -> None:
        self._launcher: int | None = None

    def attach(self, launcher: int) -> None:
        """Tell which process started the program; it is not paused itself."""
        self._launcher = launcher

    def detach(self) -> None:
        """Tell that the program has ended."""
        self._launcher = None

    @asynccontextmanager
    async def pause(self, seconds: float) -> AsyncGenerator[float]:
        """Keep the program paused; yields after how many seconds all its processes had stopped. May be one that ended.

        :param seconds: how long that may take.
        :raises NotPaused: it took longer; the program goes on.
        """
        told: dict[int, int] = {}
        began = time.monotonic()
        try:
            while self._launcher is not None and not await _run_to_end(_stop_all, self._launcher, told):
                if time.monotonic() - began > seconds:
                    raise NotPaused(f"The program did not stop within {seconds:g} s.", "Look what its machine does.")
                await asyncio.sleep(_PAUSE_S)
            yield time.monotonic() - began
        finally:
            for process in reversed(told.values()):
                with suppress(ProcessLookupError):
                    signal.pidfd_send_signal(process, signal.SIGCONT)
                os.close(process)


def measure_work(launcher: int, *, counts_itself: bool) -> tuple[tuple[int, int], ...]:
    """What the processes below a launcher have done: the number of each, and its processor time in ticks.

    :param counts_itself: it became the program, or only waits for it.
    """
    processes = [*([launcher] if counts_itself else []), *sorted(_list_below(launcher, _list_parents()))]
    return tuple((process, done) for process in processes if (done := measure_ticks(process)) is not None)


def measure_ticks(process: int) -> int | None:
    """The processor time of a process, of which a second has :data:`TICKS`; None if it is gone or nobody counts."""
    fields = _read_fields(f"/proc/{process}/stat")
    return int(fields[11]) + int(fields[12]) if fields else None


def list_processes(launcher: int) -> list[int]:
    """A launcher and all processes below it."""
    try:
        return [launcher, *_list_descendants(launcher)]
    except (FileNotFoundError, ProcessLookupError):  # it ended, or this kernel keeps no lists of children
        return [launcher, *_list_below(launcher, _list_parents())]


def list_group(group: int) -> list[int]:
    """The processes of a group, whoever their parents are."""
    return [int(name) for name in os.listdir("/proc") if name.isdigit() and _find_group(int(name)) == group]  # noqa: PTH208


def _find_group(process: int) -> int | None:
    try:
        return os.getpgid(process)
    except ProcessLookupError:
        return None


def _list_descendants(process: int) -> Iterator[int]:
    """As the kernel lists the children of each, which takes a hundredth of looking at all processes of the machine.

    :raises FileNotFoundError: it does not.
    """
    for thread in os.listdir(f"/proc/{process}/task"):  # noqa: PTH208
        with open(f"/proc/{process}/task/{thread}/children", "rb") as file:  # noqa: PTH123
            children = [int(child) for child in file.read().split()]
        for child in children:
            yield child
            with suppress(FileNotFoundError, ProcessLookupError):  # it ended
                yield from _list_descendants(child)


async def _run_to_end(work: Callable[[int, dict[int, int]], bool], launcher: int, told: dict[int, int]) -> bool:
    """The answer of a thread, which has ended when this is cancelled: nobody is told to stop after that."""
    task = asyncio.ensure_future(asyncio.to_thread(work, launcher, told))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.gather(task, return_exceptions=True)
        raise


def _stop_all(launcher: int, told: dict[int, int]) -> bool:
    """Stop all processes below the launcher; whether there was none that had not stopped.

    Each one that runs is told again, as another one may have woken it; and all at once, so that few can.

    :param told: process id → open descriptor of those that were told; it is added to.
    """
    parents = _list_parents()
    found = set(_list_below(launcher, parents))
    for process in found - told.keys():
        _open(process, parents[process], told)
    awake = [told[process] for process in found & told.keys() if not _has_stopped(process, parents)]
    for opened in awake:
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(opened, signal.SIGSTOP)
    return not awake and found <= told.keys() and found == set(_list_below(launcher, _list_parents()))


def _open(process: int, parent: int, opened: dict[int, int]) -> None:
    """Open a process, unless it ended and another one has its number: the next look sees what there is."""
    with suppress(ProcessLookupError):
        descriptor = os.pidfd_open(process)
        if _read_parent(process) == parent:
            opened[process] = descriptor
        else:
            os.close(descriptor)


def _list_below(launcher: int, parents: Mapping[int, int]) -> Iterator[int]:
    children: dict[int, list[int]] = {}
    for process, parent in parents.items():
        children.setdefault(parent, []).append(process)
    ahead = children.get(launcher, [])
    while ahead:
        process = ahead.pop()
        yield process
        ahead += children.get(process, ())


def _list_parents() -> dict[int, int]:
    found = ((int(name), _read_parent(int(name))) for name in os.listdir("/proc") if name.isdigit())  # noqa: PTH208
    return {process: parent for process, parent in found if parent is not None}


def _read_parent(process: int) -> int | None:
    fields = _read_fields(f"/proc/{process}/stat")
    return int(fields[1]) if fields else None


def _has_stopped(process: int, parents: Mapping[int, int]) -> bool:
    """Whether no thread of a process does anything, or can before one of its children does.

    A thread that has started a program by vfork waits in the kernel until that program runs, and does not stop there.
    """
    states = _read_states(process)
    if states <= _STOPPED:
        return True
    children = [child for child, parent in parents.items() if parent == process]
    return bool(children) and states <= _WAITING and all(_read_states(child) <= _STOPPED for child in children)


def _read_states(process: int) -> Set[str]:
    """The states of the threads of a process; none if it is gone."""
    try:
        threads = os.listdir(f"/proc/{process}/task")  # noqa: PTH208
    except (FileNotFoundError, ProcessLookupError):
        return frozenset()
    fields = (_read_fields(f"/proc/{process}/task/{thread}/stat") for thread in threads)
    return {each[0] for each in fields if each}


def _read_fields(path: str) -> list[str]:
    """The fields of a process or thread after its name, which may hold anything; none if it is gone."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            return file.read().rpartition(b")")[2].decode().split()
    except (FileNotFoundError, ProcessLookupError):
        return []
