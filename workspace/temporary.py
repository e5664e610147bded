"""Temporary folders and threads that block, which last no longer than their purpose."""

import asyncio
import contextlib
import os
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Callable, Generator
from pathlib import Path


@contextlib.contextmanager
def temporary_folder(purpose: str) -> Generator[Path]:
    """A fresh folder, removed at the end with everything in it."""
    path = Path(tempfile.mkdtemp(prefix=f"{_mine()}{os.getpid()}-{purpose}-")).resolve()
    try:
        yield path
    finally:
        remove_tree(path)


def sweep() -> int:
    """Remove the folders of processes that were killed. Returns how many there were."""
    swept = 0
    for folder in Path(tempfile.gettempdir()).glob(f"{_mine()}*"):
        with contextlib.suppress(FileNotFoundError):
            owner = folder.name.removeprefix(_mine()).partition("-")[0]
            if os.geteuid() in (0, folder.lstat().st_uid) and not Path(f"/proc/{owner}").exists():
                remove_tree(folder)
                swept += 1
    return swept


def _mine() -> str:
    """The prefix of the names, with the PID namespace: process numbers are unique only within it."""
    try:
        return f"forge-{Path('/proc/self/ns/pid').stat().st_ino}-"
    except OSError:
        return "forge-0-"


def remove_tree(folder: Path) -> None:
    """Remove a folder, whatever is in it."""
    try:
        shutil.rmtree(folder)
    except (OSError, RecursionError):
        # Not accessible, or nested deeper than Python can follow. Root can access everything, and must not change the
        # rights of files that somebody else may have put there.
        commands = [["rm", "-rf"]] if os.geteuid() == 0 else [["chmod", "-R", "u+rwx"], ["rm", "-rf"]]
        for command in commands:
            subprocess.run([*command, "--", str(folder)], check=False, stderr=subprocess.DEVNULL)


async def run_to_end(work: Callable[[], None], stop: threading.Event) -> None:
    """Run this in a thread. If it is cancelled, it stops the work and waits for the thread.

    :param work: ends soon after ``stop`` is set.
    """
    task = asyncio.create_task(asyncio.to_thread(work))
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        stop.set()
        await asyncio.gather(task, return_exceptions=True)
        raise
