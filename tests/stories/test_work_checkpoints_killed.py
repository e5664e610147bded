"""Killed while an agent of another make works, Forge leaves none behind, and goes on from the last checkpoint."""

import asyncio
import time
from pathlib import Path

import pytest
from sqlalchemy import select

from domain.runs.work_checkpoint import CheckpointCause
from memory.db.tables.runs import WorkCheckpointRow
from tests.chaos.driver import ChaosStage, stage
from tests.chaos.model import SLEEP, hang
from tests.chaos.scenes import prepare
from tests.chaos.shadows import Delegated
from tests.databases import Backend
from tests.unit.sandbox.machine import is_gone
from tests.world.command_line_agent import CART


class Hanging(Delegated):
    """The agent hangs in its first task."""

    delegate = staticmethod(hang)


async def _list_causes(there: ChaosStage) -> list[str]:
    async with there.database.transaction() as session:
        query = select(WorkCheckpointRow.cause).order_by(WorkCheckpointRow.work, WorkCheckpointRow.number)
        return [*await session.scalars(query)]


@pytest.mark.deep
@pytest.mark.parametrize("backend", ["sqlite"])
async def test_x9_killed_while_an_agent_works(backend: Backend, tmp_path: Path) -> None:
    async with stage(backend, tmp_path) as there:
        await prepare(there, Hanging)
        scene = Hanging(there, there.scenes)
        there.begin(scene.on_point, lambda _: False)
        scene.issue = await scene.alice.open_issue(scene.repository, "Discounts", "Customers want a discount.")
        await scene.ask(scene.issue)
        end = time.monotonic() + 90
        while not await _list_causes(there):
            assert time.monotonic() < end, "nothing was kept"
            await asyncio.sleep(0.2)
        there.forge.kill()
        assert await is_gone(f"sleep {SLEEP}")
        await there.settle()
        done = CheckpointCause.done.value
        assert await _list_causes(there) == [CheckpointCause.changes.value, done, done]
        assert scene.repository.git.read(scene.pull.head_sha, "shop/cart.py") == CART.encode()
