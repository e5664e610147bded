"""What an orchestrator is told: a database that is away takes Forge out of service, and never has it killed."""

import asyncio
from pathlib import Path

import pytest

from tests.databases import Backend
from tests.threats.outages import outage
from tests.threats.serving import PATIENCE, ForgeProcess, start_process

READY = (200, "ready")
ALIVE = (200, "ok")


@pytest.mark.parametrize("backend", ["sqlite", pytest.param("postgresql", marks=pytest.mark.deep)])
async def test_a_database_that_is_away_for_a_while(backend: Backend, tmp_path: Path) -> None:
    async with start_process(backend, tmp_path) as forge:
        assert await forge.ready() == READY
        async with outage(forge.url_of_database):
            await _wait_until_ready_is(forge, (503, "database"))
            assert await forge.alive() == ALIVE
            assert await forge.ready() == (503, "database")
        await _wait_until_ready_is(forge, READY)
        assert await forge.alive() == ALIVE


async def _wait_until_ready_is(forge: ForgeProcess, expected: tuple[int, str]) -> None:
    async with asyncio.timeout(PATIENCE):
        while await forge.ready() != expected:  # noqa: ASYNC110  # it is another process
            await asyncio.sleep(0.2)
