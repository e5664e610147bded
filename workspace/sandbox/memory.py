"""Measures how much memory a program in the sandbox really uses, with all that it started.

Engines of JavaScript, Go and Java reserve far more address space than they ever use, so that says nothing.
"""

import asyncio
import os
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from pathlib import Path

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
