"""Measures how much memory a program in the sandbox really uses, with all that it started.

Engines of JavaScript, Go and Java reserve far more address space than they ever use, so that says nothing.
"""

import asyncio
from collections.abc import Callable, Iterable

_LOOK = 0.05  # seconds between two looks: a second is enough for gigabytes
_RESERVE = 512 << 20
_KEYS = ("RssAnon:", "VmSwap:", "VmPTE:")


def measure_memory(processes: Iterable[int]) -> int:
    """Bytes that processes hold together: their own pages, in memory or swapped out, and the tables of their pages.

    Memory that several of them share counts once, as the largest of them maps it. Files do not count: the kernel drops
    them when it needs room.
    """
    own, shared = 0, 0
    for process in processes:
        fields = _read_status(process)
        own += sum(fields.get(key, 0) for key in _KEYS)
        shared = max(shared, fields.get("RssShmem:", 0))
    return (own + shared) << 10


def measure_available() -> int | None:
    """Bytes that the machine can still give; None if it does not tell."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:  # noqa: PTH123
            fields = dict(line.split()[:2] for line in file)
    except OSError:
        return None
    return int(fields["MemAvailable:"]) << 10 if "MemAvailable:" in fields else None


async def wait_for_excess(members: Callable[[], Iterable[int]], most: int) -> str:
    """Wait until a program holds too much memory; why it is to be stopped.

    So it is if the machine runs out of memory, as nothing that it does can hide memory from this: if less than half a
    gigabyte is left, or than a quarter of the little there was.

    :param members: lists its processes.
    :param most: bytes.
    """
    reserve = min(_RESERVE, (measure_available() or 0) // 4)
    while True:
        await asyncio.sleep(_LOOK)
        if why := await asyncio.to_thread(_explain_excess, members, most, reserve):
            return why


def _explain_excess(members: Callable[[], Iterable[int]], most: int, reserve: int) -> str:
    if measure_memory(members()) > most:
        return f"it held more than {most:,} bytes of memory"
    available = measure_available()
    if available is not None and available < reserve:
        return f"less than {reserve:,} bytes of memory were left on the machine"
    return ""


def _read_status(process: int) -> dict[str, int]:
    """The sizes in the status of a process, in kilobytes; none if it is gone."""
    try:
        with open(f"/proc/{process}/status", "rb") as file:  # noqa: PTH123
            lines = file.read().decode(errors="replace").splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return {}
    return {words[0]: int(words[1]) for words in map(str.split, lines) if len(words) == 3 and words[2] == "kB"}
