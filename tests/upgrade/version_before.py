"""A Forge that is of the version before when it first starts, and of this version whenever it starts again."""

import asyncio
import atexit
import functools
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from subprocess import DEVNULL, Popen

import pytest

from simulator import Simulator
from tests.chaos.driver import POLLING, ChaosStage, ProcessSlot, open_stage
from tests.databases import Backend, create_database

BEFORE = "2fefdba78f071bc8a099fe21da039ddc309d8933"
"""The commit before the source was moved into rooms. A later restructuring writes its own start here."""

BESIDE = "24d3d63ca86a6b538e58ee509514aad8342af7c5"
"""The newest version that may still run while this one starts on its database. A release writes its commit here."""

_ROOT = Path(__file__).resolve().parents[2]
_SCRIPT = Path(__file__).parent / "start_before.py"


@dataclass(eq=False)
class UpdatedSlot(ProcessSlot):
    """One process slot. Its first process is of the version before, each later one of this version.

    :param github: what the first process talks to.
    """

    github: Simulator | None = None
    before: Popen[bytes] | None = None
    is_updated: bool = False

    async def start(self, ahead: float) -> None:
        if self.is_updated:
            await super().start(ahead)
        else:
            self.is_updated = True
            self.before = await asyncio.to_thread(self._start_before, ahead)

    @property
    def pid(self) -> int:
        return super().pid if self.before is None else self.before.pid

    @property
    def is_alive(self) -> bool:
        return super().is_alive if self.before is None else self.before.poll() is None

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)

    async def wait_until_dead(self) -> None:
        if self.before is not None:
            await asyncio.to_thread(self.before.wait)
            self.before = None
        await super().wait_until_dead()

    def _start_before(self, ahead: float) -> Popen[bytes]:
        assert self.github is not None
        part, tree = self.part, tree_before()
        order = {
            "api_url": self.github.api_url,
            "web_url": self.github.url,
            "app_id": self.github.app.id,
            "private_key": self.github.app.private_key_pem,
            "database_url": part.settings.database_url,
            "folder": str(part.settings.data_dir.parent),
            "polling": POLLING,
            "address": str(part.address),
            "log": str(part.log),
            "risk": part.risk,
            "ahead": ahead,
        }
        environment = {**os.environ, "PYTHONPATH": str(tree)}
        return Popen([sys.executable, "-P", _SCRIPT, json.dumps(order)], cwd=tree, env=environment, stdin=DEVNULL)


def updated_stage(backend: Backend, folder: Path) -> AbstractAsyncContextManager[ChaosStage]:
    """A stage on a database without tables, on which the version before starts first. It is not started yet."""
    tree_before()
    url = create_database(backend, folder, migrated=False)
    return open_stage(url, folder, lambda part, github: UpdatedSlot(part, github=github))


@functools.cache
def tree_before(commit: str = BEFORE) -> Path:
    """The source of a version before, out of git's history. Sandboxed programs of other accounts can read it."""
    folder = _make_folder()
    archive, source = folder / "before.tar", folder / "source"
    made = subprocess.run(
        ["git", "-C", _ROOT, "archive", "--output", archive, commit], capture_output=True, text=True, check=False
    )
    if made.returncode:
        pytest.skip(f"git has no commit {commit} here, perhaps because the clone is shallow: {made.stderr.strip()}")
    source.mkdir()
    subprocess.run(["tar", "-x", "-f", archive, "-C", source], check=True)
    missing = list(_list_missing((source / "requirements.txt").read_text()))
    if missing:
        pytest.skip(f"The version before needs libraries that are not installed here: {', '.join(missing)}")
    return source


def _list_missing(requirements: str) -> Iterator[str]:
    """The libraries of a requirements file that are not installed. One with a condition may be for other platforms."""
    for line in requirements.splitlines():
        name, separator, rest = line.partition("==")
        if separator and not line.startswith((" ", "#")) and ";" not in rest:
            try:
                version(name)
            except PackageNotFoundError:
                yield name


def _make_folder() -> Path:
    """A folder that every account can read, until this process ends."""
    folder = Path(tempfile.mkdtemp(prefix="forge-before-"))
    folder.chmod(0o755)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
