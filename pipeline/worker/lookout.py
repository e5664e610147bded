"""Decides each second, mostly without asking the database, whether the sweeps have something to look for."""

import time
from collections.abc import Awaitable, Callable
from datetime import datetime

from domain.ports import Clock
from memory.db.engine import Database
from memory.runs import waits

AWAKE = 3.0
"""Seconds after a ring in which the sweeps look each time: what rang may be followed by more."""
_GLANCE = 10.0
"""Seconds between two looks into the database whether anything is due or queued: a ring may get lost."""
_SELDOM = 30.0  # seconds between two sweeps for which there is no sign


class Lookout:
    """What the sweeps of one process wait for: a ring, work that goes on here, a moment of the clock.

    :param clock: whose moments make things due. It is asked each second, because it may jump.
    :param is_working: whether workflows run in this process.
    :param find_queued: rings for work that waits in a queue, if there is some.
    """

    def __init__(
        self,
        database: Database,
        clock: Clock,
        is_working: Callable[[], bool],
        find_queued: Callable[[], Awaitable[None]],
    ) -> None:
        self._database = database
        self._clock = clock
        self._is_working = is_working
        self._find_queued = find_queued
        self._awake_until = time.monotonic() + AWAKE
        self._swept = self._glanced = 0.0
        self._is_stale = True  # whether a sweep may have changed what the last glance saw
        self._log: tuple[int, int] | None = None
        self._next: datetime | None = None

    def wake(self) -> None:
        """Have the sweeps look for a while."""
        self._awake_until = time.monotonic() + AWAKE

    async def is_time(self) -> bool:
        """Whether to sweep now.

        :raises DatabaseUnavailable: nobody can say.
        """
        now, is_calm = time.monotonic(), not self._is_working() and time.monotonic() > self._awake_until
        if now > self._glanced + _GLANCE or (is_calm and (self._is_stale or self._database.find_log() != self._log)):
            await self._glance(now)
        is_due = self._next is not None and self._next <= self._clock.now()
        if is_calm and not is_due and now < self._swept + _SELDOM:
            return False
        self._swept, self._is_stale = now, True
        return True

    async def _glance(self, now: float) -> None:
        log = self._database.find_log()  # first: what is written meanwhile is looked at next time
        await self._find_queued()
        self._next = await waits.find_next(self._database, self._clock.now())
        self._glanced, self._is_stale, self._log = now, False, log
