"""Reports whether the process is alive, and whether it can do its work."""

import asyncio
import shutil
import time
from pathlib import Path
from typing import Protocol

import structlog
from aiohttp import web

from domain.errors import DatabaseUnavailable
from memory.db.engine import Database
from memory.process import halts

log = structlog.get_logger(__name__)

ALIVE = "ok\n"  # what ``/healthz`` answers
MAX_AGE_S = 1.0  # seconds for which an answer of ``/readyz`` holds
PATIENCE_S = 3.0  # seconds in which the database has to answer
MIN_FREE = 200 * 1024 * 1024  # bytes of disk below which no work can be done


class Part(Protocol):
    """What a process is there for: its workflows, or its door."""

    @property
    def is_running(self) -> bool:
        """Whether it does its work."""
        ...

    async def renew(self) -> None:
        """Say in the database that it is there.

        :raises DatabaseUnavailable: that does not work.
        """
        ...


class ProcessHealth:
    """Answers ``/healthz`` and ``/readyz``.

    :param name: of the part, which is told where it does not run.
    :param data_dir: the folder whose disk must have space; None: the process keeps nothing.
    """

    def __init__(self, name: str, part: Part, database: Database, data_dir: Path | None) -> None:
        self._name = name
        self._part = part
        self._database = database
        self._data_dir = data_dir
        self._asked = asyncio.Lock()
        self._looked_at = -MAX_AGE_S
        self._problems: list[str] = []
        self._is_halted = False
        self._look: asyncio.Task[bool] | None = None

    async def alive(self, _request: web.Request) -> web.Response:
        """200 as long as the process answers."""
        return web.Response(text=ALIVE)

    async def ready(self, _request: web.Request) -> web.Response:
        """200 if work can be done, else 503 with what is broken: database, engine, disk.

        A halted Forge is ready, too: it accepts webhooks, and the operator wanted the halt.
        """
        async with self._asked:  # write to the database at most once a second, however many ask
            if time.monotonic() - self._looked_at >= MAX_AGE_S:
                self._problems = [name for name, fine in await self._parts() if not fine]
                self._looked_at = time.monotonic()
        problems = self._problems
        fine = "ready, but halted by the operator" if self._is_halted else "ready"
        return web.Response(status=503 if problems else 200, text=(", ".join(problems) or fine) + "\n")

    async def _parts(self) -> list[tuple[str, bool]]:
        return [
            ("database", await self._database_answers()),
            (self._name, self._part.is_running),
            ("disk", self._has_space()),
        ]

    def _has_space(self) -> bool:
        if self._data_dir is None:
            return True
        try:
            return shutil.disk_usage(self._data_dir).free >= MIN_FREE
        except OSError as error:
            log.warning("not_ready", error=str(error))
            return False

    async def _database_answers(self) -> bool:
        """Whether it answers in time. A look that takes longer goes on, because a driver cannot be interrupted."""
        if self._look is None or self._look.done():
            self._look = asyncio.create_task(self._look_at_database())
        await asyncio.wait({self._look}, timeout=PATIENCE_S)
        if not self._look.done():
            log.warning("not_ready", error=f"the database did not answer within {PATIENCE_S:g} s")
            return False
        return self._look.result()

    async def _look_at_database(self) -> bool:
        try:
            await self._part.renew()
            self._is_halted = await halts.get_current(self._database) is not None
        except (DatabaseUnavailable, TimeoutError) as error:
            log.warning("not_ready", error=str(error))
            return False
        return True
