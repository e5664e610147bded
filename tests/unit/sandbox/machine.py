"""What the machine these tests run on can do, and which processes are left on it."""

import asyncio
import os
import shutil
import time
from pathlib import Path

from workspace.sandbox import landlock


def has_landlock() -> bool:
    """Whether this kernel lets a process confine itself."""
    try:
        return landlock.version() > 0
    except OSError:
        return False


def has_bubblewrap() -> bool:
    """Whether bubblewrap is installed."""
    return shutil.which("bwrap") is not None


def mark_seconds(seconds: int) -> str:
    """A time to sleep that can be recognised in a command line, also beside other runs of these tests."""
    return f"{seconds}.{os.getpid()}"


async def is_gone(marker: str) -> bool:
    """Whether no process has this in its command line, at the latest after some seconds."""
    deadline = time.monotonic() + 10
    while marker in _command_lines():
        if time.monotonic() > deadline:
            return False
        await asyncio.sleep(0.05)
    return True


def _command_lines() -> str:
    lines: list[str] = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            lines.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except OSError:
            continue
    return "\n".join(lines)
