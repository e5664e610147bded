"""How much processor time and memory a process and everything below it takes, as Linux counts it."""

import ctypes
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
_SET_CHILD_SUBREAPER = 36  # prctl(2)


@contextmanager
def adopt_orphans() -> Generator[None]:
    """Have what loses its parent below this process become its child, so that its time is not lost.

    bubblewrap ends without waiting for what it started.
    """
    _prctl(1)
    try:
        yield
    finally:
        _prctl(0)


def adopt_for_good() -> None:
    """The same for a process that is about to become another program, which goes on with it."""
    _prctl(1)


def _prctl(value: int) -> None:
    if ctypes.CDLL(None, use_errno=True).prctl(_SET_CHILD_SUBREAPER, value, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "orphans cannot be adopted here")


def sum_seconds(process: int) -> float:
    """User and system time in seconds: its own, that of what is below it, and that of what it has seen end.

    Right while nothing below it starts or ends. A process that is gone has taken nothing.
    """
    root = Path("/proc") / str(process)
    try:
        stat = (root / "stat").read_text().rpartition(")")[2].split()
        children = [child for task in (root / "task").iterdir() for child in (task / "children").read_text().split()]
    except OSError:
        return 0.0
    return sum(map(int, stat[11:15])) / _TICKS + sum(sum_seconds(int(child)) for child in children)


def sum_memory(process: int) -> tuple[int, int]:
    """Bytes of its own, and with all that is below it; what processes share counts in parts (PSS)."""
    root = Path("/proc") / str(process)
    try:
        lines = (root / "smaps_rollup").read_text().splitlines()
        children = [child for task in (root / "task").iterdir() for child in (task / "children").read_text().split()]
    except OSError:
        return 0, 0
    own = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))
    return own, own + sum(sum_memory(int(child))[1] for child in children)
