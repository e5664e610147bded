"""Keeps the lease of a process: no two live processes work under one executor id; and its settings."""

import asyncio
import os
import socket
from collections.abc import Callable
from datetime import datetime, timedelta

import structlog

from domain.errors import ConfigurationError
from domain.ports import Clock
from domain.value import new_id
from memory.db.engine import Database
from memory.process import executors
from memory.process.executors import LEASE, Holder
from pipeline.worker import queues

log = structlog.get_logger(__name__)

_SURE = LEASE / 2  # so long after a renewal nobody else has it, even if their clock is ahead by as much


class ProcessLease:
    """The lease of this process.

    It may run out, because the machine was busy, slept or stopped this process. Then it is taken up again, unless
    another process has taken over the work meanwhile. Also where it was forgotten, after a day, as long as nothing that
    runs here was taken: of what is forgotten, nobody can ask who had it last.

    :param executor_id: stable, and unique for each process slot.
    :param was_work_taken: whether others took what the executor of an id is still at work on.
    :ivar displaced: set once another process has taken over. Then this one must end at once, as if killed.
    """

    def __init__(
        self,
        database: Database,
        clock: Clock,
        executor_id: str,
        was_work_taken: Callable[[str], bool] = queues.was_work_taken,
    ) -> None:
        self._database = database
        self._clock = clock
        self.holder = Holder(executor_id, new_id(), socket.gethostname(), os.getpid())
        self._was_work_taken = was_work_taken
        self._renewed: datetime | None = None
        self._back_since: datetime | None = None  # when it was taken up again after it had run out
        self.displaced = asyncio.Event()

    @property
    def is_lost(self) -> bool:
        return self.displaced.is_set()

    @property
    def is_steady(self) -> bool:
        """Whether the leases of others that ran out say something about these others.

        Not right after this one ran out, too: the database was away, say, and they are about to renew theirs.
        """
        now = self._clock.now()
        is_fresh = self._renewed is not None and now - self._renewed < LEASE
        return is_fresh and (self._back_since is None or now - self._back_since >= LEASE)

    async def take(self) -> None:
        """:raises ConfigurationError: another live process holds it."""
        database, now = self._database, self._clock.now()
        other = await executors.take(database, self.holder, now)
        if other is not None and _is_dead(other):
            other = await executors.take(database, self.holder, now, force=True)
        if other is not None:
            raise ConfigurationError(
                f"FORGE_EXECUTOR_ID {other.executor_id} is in use by process {other.pid} on {other.host}.",
                "Give each process its own, or wait half a minute if that process has just died.",
            )
        self._renewed = now
        if database.dialect == "sqlite":
            await self._warn_of_others(now)

    async def _warn_of_others(self, now: datetime) -> None:
        """Tell the operator of other processes on a database that is for one."""
        others = await executors.list_others(self._database, self.holder.executor_id, now)
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
        now, before = self._clock.now(), self._renewed
        if not await executors.renew(self._database, self.holder, now) and not await self._restore(now):
            await self._give_up()
            return
        self._renewed = now
        if before is not None and now - before > LEASE:
            self._back_since = now
            log.info("lease.taken_up_again", executor=self.holder.executor_id, after=(now - before).total_seconds())

    async def _restore(self, now: datetime) -> bool:
        if await executors.find(self._database, self.holder.executor_id) is not None:
            return False
        if await asyncio.to_thread(self._was_work_taken, self.holder.executor_id):
            return False
        return await executors.restore(self._database, self.holder, now)

    async def require(self) -> None:
        """Call this right before an effect that must not happen twice.

        A process that stood still in the middle of a step does not know for how long.

        :raises asyncio.CancelledError: another process has taken over; as if this one had died here.
        :raises DatabaseUnavailable: nobody can say.
        """
        if self._renewed is None or not timedelta(0) <= self._clock.now() - self._renewed < _SURE:
            await self.renew()
        if self.is_lost:
            raise asyncio.CancelledError

    async def _give_up(self) -> None:
        other = await executors.find(self._database, self.holder.executor_id)
        to = {} if other is None else {"to_pid": other.pid, "to_host": other.host}
        log.error("lease.lost", executor=self.holder.executor_id, **to)
        self.displaced.set()

    async def release(self) -> None:
        await executors.release(self._database, self.holder, self._clock.now())


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
