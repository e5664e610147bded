"""Orders the writes of an installation: one at a time, awaited ones first, no faster than GitHub wants.

GitHub, "Best practices for using the REST API": make requests serially, and leave at least a second between many
writes. Reads that fail temporarily are repeated.
"""

import asyncio
import contextlib
import itertools
import random
import re
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TypeVar

from domain.errors import LeftOut, RateLimited, Unavailable
from domain.ports import Clock
from memory.db.engine import Database
from memory.process.rate_limits import reserve_write
from safety.github_limits import (
    CONTENT_INTERVAL,
    PER_HOUR,
    PER_MINUTE,
    Importance,
    Rate,
    WritesSpent,
    WriteTurn,
    current_importance,
    take_turn,
)

T = TypeVar("T")
Sleep = Callable[[float], Awaitable[None]]

READ_REPEATS = 2
FIRST_BACKOFF_S = 0.5
PATIENCE = {
    Importance.awaited: timedelta(seconds=15),
    Importance.tidying: timedelta(seconds=15),
    Importance.informing: timedelta(seconds=1),
}
"""How long a write waits for its turn. After that, one that only informs is left out, and any other is tried again
later: a waiting write occupies one of the few workers, which another installation may need."""

_CONTENT = re.compile(r"/(issues|pulls|comments|replies|reviews)$")
_REPOSITORY = re.compile(r"^repos/[^/]+/[^/]+")


async def retry_read(read: Callable[[], Awaitable[T]], sleep: Sleep) -> T:
    """The answer of ``read``, tried up to three times while GitHub is unavailable; any other error is final."""
    for repeat in range(READ_REPEATS):
        try:
            return await read()
        except Unavailable:
            await sleep(FIRST_BACKOFF_S * 2**repeat * random.uniform(0.5, 1.5))
    return await read()


@dataclass(frozen=True)
class Write:
    """What decides the order of writes.

    :param repository: the repository it is about; empty if its address does not say.
    :param creates: it creates content as GitHub defines it.
    """

    repository: str = ""
    creates: bool = False

    @classmethod
    def to(cls, method: str, path: str) -> "Write":
        """A request to a path of the REST API."""
        found = _REPOSITORY.match(path)
        creates = method == "POST" and _CONTENT.search(path) is not None
        return cls(found.group() if found else "", creates)


class WriteBudget:
    """Counts the writes of each installation.

    :param database: counts them for all processes; None: only those of this one count.
    """

    def __init__(self, clock: Clock, database: Database | None) -> None:
        self._clock = clock
        self._database = database
        self._spent: dict[int, WritesSpent] = {}

    async def take(self, installation_id: int, rate: Rate, importance: Importance, *, creates: bool) -> WriteTurn:
        """Whether a write may be made now; counts it if so."""
        now = self._clock.now()
        if self._database is not None:
            return await reserve_write(self._database, installation_id, rate, importance, now, creates=creates)
        spent = self._spent.get(installation_id, WritesSpent(now, now))
        asked = take_turn(spent, rate, importance, now, creates=creates)
        self._spent[installation_id] = asked.spent
        return asked


@dataclass(eq=False)
class _QueuedWrite:
    """A write that waits for its turn."""

    write: Write
    importance: Importance
    number: int


@dataclass(eq=False)
class _Lane:
    """The writes of one installation in this process.

    :param served: for each repository, the ever-growing number of its last turn.
    :param content_from: until this time, in UTC, the budget has no writes left that create content.
    """

    waiting: list[_QueuedWrite] = field(default_factory=list["_QueuedWrite"])
    served: dict[str, int] = field(default_factory=dict[str, int])
    busy: bool = False
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    content_from: datetime | None = None

    def find_next(self, now: datetime) -> _QueuedWrite:
        """The next write: the most important one; among equals, of the repository that was served longest ago.

        A write that must wait for the hourly content budget does not hold up others.
        """
        return min(
            [each for each in self.waiting if not self.content_wait(each, now)] or self.waiting,
            key=lambda each: (each.importance, self.served.get(each.write.repository, 0), each.number),
        )

    def content_wait(self, one: _QueuedWrite, now: datetime) -> timedelta:
        """How long at least the budget has no room for this write's content."""
        if not one.write.creates or self.content_from is None:
            return timedelta()
        return max(self.content_from - now, timedelta())

    def wake(self) -> None:
        """Let all waiting writes look again."""
        self.changed.set()
        self.changed = asyncio.Event()

    def leave(self, one: _QueuedWrite) -> None:
        self.waiting.remove(one)
        if not self.waiting:
            self.served.clear()
        self.wake()


class WriteLanes:
    """One lane per installation: one write at a time, as often as its rate allows.

    Each process has its own lanes; all share the budget.

    :param interval_s: seconds between two writes of an installation once its burst is used up; 0: no pauses at all.
    """

    def __init__(self, interval_s: float, clock: Clock, sleep: Sleep, budget: WriteBudget) -> None:
        self._rate = Rate(timedelta(seconds=interval_s)) if interval_s > 0 else None
        self._clock = clock
        self._sleep = sleep
        self._budget = budget
        self._lanes: dict[int, _Lane] = {}
        self._numbers = itertools.count(1)

    @asynccontextmanager
    async def turn(self, installation_id: int, write: Write) -> AsyncGenerator[None]:
        """Waits for its turn and keeps the lane until the write is over.

        :raises LeftOut: it only informs, and others come first.
        :raises RateLimited: so many writes wait that it should be tried again later.
        """
        lane = self._lanes.setdefault(installation_id, _Lane())
        one = _QueuedWrite(write, current_importance(), next(self._numbers))
        lane.waiting.append(one)
        try:
            await self._acquire(installation_id, lane, one)
            try:
                yield
            finally:
                lane.busy = False
        finally:
            lane.leave(one)

    async def _acquire(self, installation_id: int, lane: _Lane, one: _QueuedWrite) -> None:
        """Take the lane once this write is next and the budget has a write left."""
        began = self._clock.now()
        while True:
            if lane.busy or lane.find_next(self._clock.now()) is not one:
                await self._wait_for_change(lane, one)
            else:
                lane.busy = True
                wait = await self._ask_budget(installation_id, lane, one)
                if not wait:
                    lane.served[one.write.repository] = next(self._numbers)
                    return
                lane.wake()
                self._require_patience(lane, one, began, wait)
                await self._sleep(wait.total_seconds())
                lane.wake()  # the order depends on the time
            self._require_patience(lane, one, began)

    async def _ask_budget(self, installation_id: int, lane: _Lane, one: _QueuedWrite) -> timedelta:
        """How long to wait for the budget; if not at all, the lane stays taken."""
        granted = False
        try:
            wait = lane.content_wait(one, self._clock.now())
            if self._rate is not None and not wait:
                creates = one.write.creates
                asked = await self._budget.take(installation_id, self._rate, one.importance, creates=creates)
                wait = asked.wait
                if asked.wants_content:
                    lane.content_from = self._clock.now() + wait
            granted = not wait
            return wait
        finally:
            lane.busy = granted

    async def _wait_for_change(self, lane: _Lane, one: _QueuedWrite) -> None:
        """Wait until this write may be next, or has waited long enough."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(lane.changed.wait(), PATIENCE[one.importance].total_seconds())

    def _require_patience(self, lane: _Lane, one: _QueuedWrite, began: datetime, wait: timedelta = timedelta()) -> None:
        """:raises LeftOut, RateLimited: it waited, or would wait, for too long."""
        now = self._clock.now()
        if self._rate is None or now - began + wait <= PATIENCE[one.importance]:
            return
        if one.importance is Importance.informing:
            raise LeftOut("Many writes to GitHub are waiting, and this one only informs.")
        wait = max(wait, lane.content_wait(one, now))
        wants_content = lane.content_wait(one, now) > timedelta()
        before = sum(
            other.importance <= one.importance and (other.write.creates or not wants_content) for other in lane.waiting
        )
        until = now + max(wait, (CONTENT_INTERVAL if wants_content else self._rate.interval) * before)
        limit = f"{PER_HOUR} comments an hour" if wants_content else f"{PER_MINUTE} writes a minute"
        raise RateLimited(f"Forge has many writes waiting here; GitHub allows at most {limit}.", until)
