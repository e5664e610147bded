"""What `forge serve` takes to which nothing happens (bars: 1 % of a core, 200 MB), against one that keeps looking."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from agents.llm.scripted import ScriptedModel
from pipeline.durable.queues import ring_all
from simulator import Simulator
from tests.bench.processor import sum_memory, sum_seconds
from tests.bench.served_forge import start_forge
from tests.databases import Backend, get_server_pid
from tests.stories.driver import SECRET
from tests.threats.serving import start_process
from workspace.sandbox.worker_pool import REST

SECONDS = 60
_POLLING = 0.2
_ringing: set[asyncio.Task[None]] = set()


def _ring(_model: ScriptedModel) -> None:
    """It is told of work five times a second, so that it looks into its queues as if it polled them."""

    async def keep_ringing() -> None:
        while True:
            ring_all()
            await asyncio.sleep(_POLLING)

    _ringing.add(asyncio.create_task(keep_ringing()))


@pytest.mark.parametrize("backend", ["sqlite", "postgresql"])
async def test_a_forge_that_has_nothing_to_do(backend: Backend, tmp_path: Path) -> None:
    async with _start(_ring, tmp_path, backend) as process:
        polling = await _measure(process, backend, 5)
    async with start_process(backend, tmp_path, {"FORGE_WRITE_INTERVAL": "1"}) as forge:
        idle = await _measure(forge.pid, backend, REST + 15)
    print(f"\n\nIdle on {backend}: {100 * idle.own:.2f} % of a core, {idle.memory / 1e6:.0f} MB with all below it")
    print(f"Looking into its queues and sweeping all the time: {100 * polling.own:.2f} %")
    if backend == "postgresql":
        print(f"The server of its database: {100 * idle.server:.2f} %, and {100 * polling.server:.2f} %")


class _Load(NamedTuple):
    """Processor seconds a second of Forge and of the server of its database, and Forge's bytes."""

    own: float
    server: float
    memory: int


@asynccontextmanager
async def _start(teach: Callable[[ScriptedModel], None], folder: Path, backend: Backend) -> AsyncGenerator[int]:
    """A Forge of its own that is taught something, with what tests import."""
    place = folder / "taught"
    place.mkdir()
    async with (
        Simulator(place / "github", webhook_secret=SECRET) as github,
        start_forge(github, place, teach, backend=backend) as process,
    ):
        yield process


async def _measure(process: int, backend: Backend, wait: float) -> _Load:
    """Measure a Forge for a minute.

    :param wait: seconds from its start on.
    """
    server = get_server_pid() if backend == "postgresql" else 0
    await asyncio.sleep(wait)
    before = sum_seconds(process), sum_seconds(server)
    await asyncio.sleep(SECONDS)
    own, other = sum_seconds(process) - before[0], sum_seconds(server) - before[1]
    return _Load(own / SECONDS, other / SECONDS, sum_memory(process)[1])
