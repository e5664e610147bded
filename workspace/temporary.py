"""Temporary folders, which last no longer than their purpose and the process that made them."""

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Generator
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
