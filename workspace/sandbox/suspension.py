"""Pauses a program that runs in the sandbox, with everything it started, lets it go on, and measures what it does.

The kernel stops the processes (SIGSTOP), so no program can refuse, and none that is stopped can wake another.
"""

import asyncio
import os
import signal
import time
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Set
from contextlib import asynccontextmanager, suppress

from domain.errors import ToolError

TICKS = os.sysconf("SC_CLK_TCK")
"""Of processor time in a second, as the kernel counts it."""
_PAUSE_S = 0.001
_STOPPED = frozenset("TtZXx")  # states of a thread that does nothing: stopped, traced, ended
_WAITING = _STOPPED | {"D"}  # or waits in the kernel


class NotPaused(ToolError):
    """Some process did not stop in time."""


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
