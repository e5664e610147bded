"""What a whole Forge takes to which nothing happens (bars: 1 % of a core, 200 MB), against one that keeps looking."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from agents.llm.scripted import ScriptedModel
from pipeline.durable.bell import ring_all
from simulator import Simulator
from tests.bench.processor import sum_memory, sum_seconds
from tests.bench.served_forge import start_forge
from tests.stories.driver import SECRET
from workspace.sandbox.worker_pool import REST

SECONDS = 60
_POLLING = 0.2
_ringing: set[asyncio.Task[None]] = set()


def _rest(_model: ScriptedModel) -> None:
    """Nothing happens."""


def _ring(_model: ScriptedModel) -> None:
    """It is told of work five times a second, so that it looks into its queues as if it polled them."""

    async def keep_ringing() -> None:
        while True:
            ring_all()
            await asyncio.sleep(_POLLING)

    _ringing.add(asyncio.create_task(keep_ringing()))


async def test_a_forge_that_has_nothing_to_do(tmp_path: Path) -> None:
    polling, _ = await _measure(_ring, tmp_path / "polling", 5)
    idle, memory = await _measure(_rest, tmp_path / "idle", REST + 15)
    print(f"\n\nIdle: {100 * idle:.2f} % of a core, {memory / 1e6:.0f} MB with all that is below it")
    print(f"Looking into its queues and sweeping all the time: {100 * polling:.2f} % ({polling / idle:.0f} times)")


async def _measure(teach: Callable[[ScriptedModel], None], folder: Path, wait: float) -> tuple[float, int]:
    """(processor seconds a second, bytes).

    :param wait: seconds from its start on.
    """
    folder.mkdir()
    async with (
        Simulator(folder / "github", webhook_secret=SECRET) as github,
        start_forge(github, folder, teach) as process,
    ):
        await asyncio.sleep(wait)
        before = sum_seconds(process)
        await asyncio.sleep(SECONDS)
        return (sum_seconds(process) - before) / SECONDS, sum_memory(process)[1]
