"""Folders that last as long as what they are for, and no longer than the process that made them."""

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Generator
from pathlib import Path


@contextlib.contextmanager
def temporary_folder(purpose: str) -> Generator[Path]:
    """A fresh folder, removed at the end whatever was put into it."""
    path = Path(tempfile.mkdtemp(prefix=f"{_mine()}{os.getpid()}-{purpose}-")).resolve()
    try:
        yield path
    finally:
        remove_tree(path)


def sweep() -> int:
    """Remove what processes left that were killed; how many folders that were."""
    swept = 0
    for folder in Path(tempfile.gettempdir()).glob(f"{_mine()}*"):
        with contextlib.suppress(FileNotFoundError):
            owner = folder.name.removeprefix(_mine()).partition("-")[0]
            if os.geteuid() in (0, folder.lstat().st_uid) and not Path(f"/proc/{owner}").exists():
                remove_tree(folder)
                swept += 1
    return swept


def _mine() -> str:
    """The beginning of the names: process numbers mean something within their namespace only."""
    try:
        return f"forge-{Path('/proc/self/ns/pid').stat().st_ino}-"
    except OSError:
        return "forge-0-"


def remove_tree(folder: Path) -> None:
    """Remove a folder, whatever is in it."""
    try:
        shutil.rmtree(folder)
    except (OSError, RecursionError):
        # Closed to us, or nested deeper than Python can follow. To root nothing is closed, and it changes no rights of
        # what somebody else may have put there.
        commands = [["rm", "-rf"]] if os.geteuid() == 0 else [["chmod", "-R", "u+rwx"], ["rm", "-rf"]]
        for command in commands:
            subprocess.run([*command, "--", str(folder)], check=False, stderr=subprocess.DEVNULL)
