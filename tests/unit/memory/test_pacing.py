"""The budget of writes in the database: several processes together never take more than there is."""

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from memory.db.engine import Database
from memory.process.rate_limits import reserve_write
from safety.github_limits import Importance, Rate
from tests.databases import Backend, create_database, drop_database

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
RATE = Rate(timedelta(seconds=1))


@pytest.mark.parametrize("backend", ["sqlite", "postgresql"])
async def test_processes_share_a_budget(backend: Backend, tmp_path: Path) -> None:
    url = create_database(backend, tmp_path)
    processes = [Database(url), Database(url)]
    asked = await asyncio.gather(
        *(
            reserve_write(database, installation, RATE, Importance.awaited, NOON, creates=True)
            for database in processes
            for _ in range(15)
            for installation in (7, 8)
        )
    )
    assert sum(not each.wait for each in asked) == 2 * RATE.burst
    later = await reserve_write(processes[0], 7, RATE, Importance.awaited, NOON + timedelta(seconds=1), creates=True)
    assert not later.wait
    for database in processes:
        await database.close()
    drop_database(url)
