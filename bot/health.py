"""Says whether the process lives, and whether it can do its work."""

import asyncio
import shutil
from pathlib import Path

import structlog
from aiohttp import web

from domain.errors import DatabaseUnavailable
from memory.database import Database
from pipeline.engine import WorkflowEngine

log = structlog.get_logger(__name__)

LEAST_FREE = 200 * 1024 * 1024  # bytes of disk below which no work can be done


class Health:
    """Answers ``/healthz`` and ``/readyz``."""

    def __init__(self, database: Database, workflows: WorkflowEngine, data_dir: Path) -> None:
        self._database = database
        self._workflows = workflows
        self._data_dir = data_dir

    async def alive(self, _request: web.Request) -> web.Response:
        """200 as long as the process answers."""
        return web.Response(text="ok\n")

    async def ready(self, _request: web.Request) -> web.Response:
        """200 if work can be done, else 503 with what is in the way: database, engine, disk."""
        problems = [name for name, fine in [*(await self._parts())] if not fine]
        return web.Response(status=503 if problems else 200, text=(", ".join(problems) or "ready") + "\n")

    async def _parts(self) -> list[tuple[str, bool]]:
        return [
            ("database", await self._database_answers()),
            ("engine", self._workflows.is_running),
            ("disk", shutil.disk_usage(self._data_dir).free >= LEAST_FREE),
        ]

    async def _database_answers(self) -> bool:
        try:
            async with asyncio.timeout(3):
                await self._database.ping()
        except (DatabaseUnavailable, TimeoutError) as error:
            log.warning("not_ready", error=str(error))
            return False
        return True
