"""Serialises the writes of an installation and leaves time between them; repeats reads that failed in passing.

GitHub, "Best practices for using the REST API": make requests serially, and leave at least a second between writes.
"""

import asyncio
import random
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeVar

from domain.errors import Unavailable
from domain.ports import Clock

T = TypeVar("T")
Sleep = Callable[[float], Awaitable[None]]

READ_REPEATS = 2
FIRST_BACKOFF_S = 0.5


async def patiently(read: Callable[[], Awaitable[T]], sleep: Sleep) -> T:
    """The answer of ``read``, tried up to three times while GitHub is unavailable; any other error is final."""
    for repeat in range(READ_REPEATS):
        try:
            return await read()
        except Unavailable:
            await sleep(FIRST_BACKOFF_S * 2**repeat * random.uniform(0.5, 1.5))
    return await read()


@dataclass
class _Lane:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    started: datetime | None = None


class WriteLanes:
    """One lane per installation: one write at a time, its start at least ``interval_s`` after the last one's.

    Writes of other processes are not seen here; the outbox hands an installation's writes to one worker at a time.
    """

    def __init__(self, interval_s: float, clock: Clock, sleep: Sleep) -> None:
        self._interval_s = interval_s
        self._clock = clock
        self._sleep = sleep
        self._lanes: dict[int, _Lane] = {}

    @asynccontextmanager
    async def turn(self, installation_id: int) -> AsyncGenerator[None, None]:
        """Waits for its turn; the lane is held until the write is over."""
        lane = self._lanes.setdefault(installation_id, _Lane())
        async with lane.lock:
            await self._keep_distance(lane)
            lane.started = self._clock.now()
            yield

    async def _keep_distance(self, lane: _Lane) -> None:
        if lane.started is None:
            return
        since = (self._clock.now() - lane.started).total_seconds()
        gap = self._interval_s - max(since, 0.0)  # a clock set back must not lengthen the pause
        if gap > 0:
            await self._sleep(gap)
