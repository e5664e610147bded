"""Keeps the lease of a process: no two live processes work under one executor id."""

import asyncio
import os
import socket
from datetime import datetime

import structlog

from domain.errors import ConfigurationError
from domain.ids import new_id
from memory.process import executors
from memory.process.executors import LEASE, Holder
from pipeline.context import Services

log = structlog.get_logger(__name__)


class ProcessLease:
    """The lease of this process.

    :ivar displaced: set once another process may have taken over this one's work, for example because this one was
        frozen. Then this one must end at once, as if killed.
    """

    def __init__(self, services: Services, executor_id: str) -> None:
        self._services = services
        self._holder = Holder(executor_id, new_id(), socket.gethostname(), os.getpid())
        self._renewed: datetime | None = None
        self.is_lost = False
        self.displaced = asyncio.Event()

    async def take(self) -> None:
        """:raises ConfigurationError: another live process holds it."""
        database, now = self._services.database, self._services.clock.now()
        other = await executors.take(database, self._holder, now)
        if other is not None and _is_dead(other):
            other = await executors.take(database, self._holder, now, force=True)
        if other is not None:
            raise ConfigurationError(
                f"FORGE_EXECUTOR_ID {other.executor_id} is in use by process {other.pid} on {other.host}.",
                "Give each process its own, or wait half a minute if that process has just died.",
            )
        if database.dialect == "sqlite":
            await self._warn_of_others(now)

    async def _warn_of_others(self, now: datetime) -> None:
        """Tell the operator of other processes on a database that is for one."""
        others = await executors.list_others(self._services.database, self._holder.executor_id, now)
        pids = [other.pid for other in others if not _is_dead(other)]
        if pids:
            log.warning(
                "sqlite.shared",
                pids=pids,
                why="SQLite is for one process; beside others a webhook may wait longer than GitHub does.",
                advice="Stop the others, or set FORGE_DATABASE_URL to postgresql://… for all.",
            )

    async def renew(self) -> None:
        """Renew it. The write also proves that the database works.

        :raises DatabaseUnavailable: it does not.
        """
        now = self._services.clock.now()
        lapsed = self._renewed is not None and now - self._renewed > LEASE
        other = await executors.take(self._services.database, self._holder, now)
        self._renewed, self.is_lost = now, other is not None
        if lapsed or self.is_lost:
            self.displaced.set()
        if other is not None:
            log.error("lease.lost", executor=self._holder.executor_id, to_pid=other.pid, to_host=other.host)

    async def release(self) -> None:
        await executors.release(self._services.database, self._holder, self._services.clock.now())


def _is_dead(other: Holder) -> bool:
    """Whether a lease's holder ran on this machine and is gone."""
    if other.host != socket.gethostname():
        return False
    try:
        os.kill(other.pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return other.pid == os.getpid()
