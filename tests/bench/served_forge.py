"""A whole Forge in a process of its own, with the settings of an operator who sets none and a scripted model."""

import asyncio
import multiprocessing
import os
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from multiprocessing.connection import Connection
from pathlib import Path

from agents.llm.models import Models
from agents.llm.scripted import ScriptedModel
from bot.app import forge
from bot.server import serve
from bot.settings import Settings
from simulator import Simulator
from tests.bench.processor import adopt_orphans
from tests.databases import Backend, create_database
from tests.stories.driver import settings

_STARTS = multiprocessing.get_context("spawn")


@asynccontextmanager
async def start_forge(
    github: Simulator,
    folder: Path,
    teach: Callable[[ScriptedModel], None],
    *,
    backend: Backend = "sqlite",
    **more: object,
) -> AsyncGenerator[int]:
    """Start it on an empty database; GitHub delivers to its door. The id of its process.

    :param teach: tells the model what to answer.
    :param more: settings.
    """
    ours, theirs = _STARTS.Pipe()
    deployed: dict[str, object] = {"write_interval": 1.0, "queue_polling": 0.2, "tool_workers": 2, **more}
    values = settings(create_database(backend, folder), folder, github, **deployed)
    process = _STARTS.Process(target=_run, args=(values, teach, theirs, folder / "forge.log"))
    process.start()
    try:
        port = await asyncio.to_thread(ours.recv)
        github.webhook_url = f"http://127.0.0.1:{port}/webhook"
        assert process.pid is not None
        yield process.pid
    finally:
        ours.send("end")
        await asyncio.to_thread(process.join)


def _run(values: Settings, teach: Callable[[ScriptedModel], None], line: Connection, log: Path) -> None:
    output = os.open(log, os.O_WRONLY | os.O_CREAT)
    os.dup2(output, 1)
    os.dup2(output, 2)
    asyncio.run(_serve(values, teach, line))


async def _serve(values: Settings, teach: Callable[[ScriptedModel], None], line: Connection) -> None:
    model = ScriptedModel()
    teach(model)
    with adopt_orphans():
        async with forge(values, models=Models.only(model.language_model)) as running, serve(running) as port:
            line.send(port)
            await asyncio.to_thread(line.recv)
