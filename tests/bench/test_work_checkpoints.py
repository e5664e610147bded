"""What a checkpoint of an agent's work costs beside git objects alone, and how soon the agent stands still."""

import asyncio
import os
import statistics
import subprocess
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from domain.config.configuration import Execution
from domain.runs.patches import Areas
from domain.runs.work_checkpoint import CheckpointCause, WorkKey
from memory.db.engine import Database
from memory.runs import work_checkpoints
from pipeline.issue.coding.work_item import WorkHistory
from pipeline.issue.coding.work_keeper import ShadowWork, WorkKeeper
from tests.bench.repositories import make_repository
from tests.databases import create_database
from tests.rows import NOON
from tests.unit.sandbox.machine import has_bubblewrap
from workspace.draft import Draft
from workspace.git import Git
from workspace.objects import Objects
from workspace.sandbox import probing
from workspace.sandbox.processes import ProgramControl
from workspace.shadow import open_shadow

pytestmark = pytest.mark.skipif(not has_bubblewrap(), reason="no bwrap here")

_CHANGED = 20  # files, each time
_TIMES = 12
_BUSY = "while :; do :; done & while :; do sleep 0.01; done & sleep 600"


@pytest.mark.parametrize("count", [5_000, 49_000])
async def test_a_checkpoint_beside_git(tmp_path: Path, count: int) -> None:
    tree = tmp_path / "tree"
    commit = make_repository(tree, count)
    objects, sandbox = Objects(Git(tree / ".git")), await probing.make_sandbox()
    database = Database(create_database("sqlite", tmp_path))
    control, key = ProgramControl(), WorkKey(run_id="run", work="bench", base=commit)

    async def load_cost() -> int:
        return 0

    context: Any = SimpleNamespace(database=database, now=lambda: NOON, load_cost=load_cost)
    kept, committed = list[float](), list[float]()
    async with open_shadow(objects, commit, sandbox) as shadow:
        work = ShadowWork(shadow, Draft(objects, commit, Areas(role="implementer")))
        keeper = WorkKeeper(context, Execution(), WorkHistory(key), work, control)
        running = asyncio.ensure_future(shadow.checkout.run(("/bin/sh", "-c", _BUSY), seconds=600, control=control))
        await asyncio.sleep(1)
        for number in range(_TIMES):
            for place in (tree, shadow.checkout.code):
                _change(place, number)
            began = time.perf_counter()
            assert await keeper.keep(CheckpointCause.time) == ""
            kept.append(time.perf_counter() - began)
            committed.append(_commit(tree))
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    made = await work_checkpoints.list_of_run(database, "run")
    await database.close()
    assert [each.changed for each in made] == [_CHANGED] * _TIMES
    paused = sorted(each.paused_seconds for each in made)
    ratio = statistics.median(kept) / statistics.median(committed)
    print(
        f"\n{count:,} files: a checkpoint of {_CHANGED} changes takes {1000 * statistics.median(kept):.0f} ms "
        f"(most {1000 * max(kept):.0f}), {ratio:.1f} times git objects alone "
        f"({1000 * statistics.median(committed):.0f} ms); the agent stood still after "
        f"{1000 * statistics.median(paused):.1f} ms (most {1000 * paused[-1]:.1f})"
    )
    assert ratio < 12


def _change(place: Path, number: int) -> None:
    for part in range(_CHANGED):
        (place / f"src/part{part}/file{number}.py").write_text("VALUE = 0\n")


def _commit(tree: Path) -> float:
    """Write everything into git's objects through an index of its own, as a commit."""
    environment = {**os.environ, "GIT_INDEX_FILE": str(tree / ".git" / "private")}
    run = ["git", "-C", str(tree), "-c", "user.name=a", "-c", "user.email=a@localhost"]
    if not (tree / ".git" / "private").exists():
        subprocess.run([*run, "read-tree", "HEAD"], check=True, env=environment)
        subprocess.run([*run, "update-index", "-q", "--refresh"], check=False, env=environment, capture_output=True)
    began = time.perf_counter()
    subprocess.run([*run, "add", "--all"], check=True, env=environment)
    written = subprocess.check_output([*run, "write-tree"], env=environment, text=True).strip()
    subprocess.run([*run, "commit-tree", written, "-m", "c"], check=True, env=environment, capture_output=True)
    return time.perf_counter() - began
