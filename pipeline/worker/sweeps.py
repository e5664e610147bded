"""Sweeps for work that is due: waits, gates, checks, notices, lapsed processes, retention, detectors and learning.

A lookout decides each second, mostly without asking the database, whether they have something to look for.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime

import structlog

from domain.ports import Clock
from memory import gates
from memory.db.engine import Database
from memory.process import executors, halts
from memory.runs import waits
from pipeline.automation.workflow import enqueue_due_checks
from pipeline.context import Services
from pipeline.durable.queues import enqueue_resume, ring_all
from pipeline.learning.consolidation import ConsolidationSweep
from pipeline.learning.reflection_input import ReflectionSweep
from pipeline.maintenance.notices import enqueue_notices
from pipeline.maintenance.retention import Retention
from pipeline.worker import queues
from pipeline.worker.lease import ProcessLease

log = structlog.get_logger(__name__)

AWAKE = 3.0
"""Seconds after a ring in which the sweeps look each time: what rang may be followed by more."""
_GLANCE = 10.0
"""Seconds between two looks into the database whether anything is due or queued: a ring may get lost."""
_SELDOM = 30.0  # seconds between two sweeps for which there is no sign
Sweep = Callable[[], Awaitable[None]]


class Sweeps:
    """The sweeps of one process.

    :param lease: of this process.
    :ivar parked: workflows that started here and wait without a place in a queue.
    """

    def __init__(self, services: Services, lease: ProcessLease) -> None:
        self._services = services
        self._lease = lease
        self._executor_id = lease.holder.executor_id
        self._retention = Retention(services)
        self._reflections = ReflectionSweep(services)
        self._consolidations = ConsolidationSweep(services)
        self._queued_gates: set[str] = set()  # gates whose answers queued their runs
        self._idle: frozenset[str] = frozenset()  # started here, but not running at the last sweep
        self.parked: set[str] = set()

    @property
    def every_second(self) -> Sequence[Sweep]:
        return (self._wake_due, self._answer_gates, self._enqueue_notices)

    @property
    def every_heartbeat(self) -> Sequence[Sweep]:
        return (
            self._adopt_work,
            self._requeue_idle,
            self._retention.sweep,
            self._reflections.enqueue_reflections,
            self._consolidations.enqueue_consolidations,
        )

    async def _wake_due(self) -> None:
        now = self._services.clock.now()
        await halts.resume_waiting(self._services.database, now)
        await self._unpark(now)
        for workflow_id in await waits.list_due(self._services.database, now):
            if workflow_id not in self.parked:  # another process queues it again, or it was purged while it waited
                await waits.remove_due(self._services.database, workflow_id, now)
        await enqueue_due_checks(self._services)

    async def _unpark(self, now: datetime) -> None:
        """Queue parked workflows again whose wait is over."""
        left = self.parked.difference(await asyncio.to_thread(queues.list_active)) if self.parked else set[str]()
        if not left:
            return
        for workflow_id in left - await waits.filter_waiting(self._services.database, sorted(left), now):
            self.parked.discard(workflow_id)  # first: it may park again at once
            await self._requeue(workflow_id)
            await waits.remove_due(self._services.database, workflow_id, now)

    async def _answer_gates(self) -> None:
        """Expire the gates that nobody answered in time, and queue runs whose gates are answered."""
        await gates.expire(self._services.database, self._services.clock.now())
        answered = await gates.list_answered(self._services.database)
        for gate, run in answered:
            if gate.id not in self._queued_gates:
                await enqueue_resume(run, gate.id)
        self._queued_gates = {gate.id for gate, _ in answered}

    async def _enqueue_notices(self) -> None:
        await enqueue_notices(self._services)

    async def _adopt_work(self) -> None:
        """Queue the work of processes whose lease ran out. Who left nothing behind may take its own up again."""
        if not self._lease.is_steady:
            return
        database, now = self._services.database, self._services.clock.now()
        for executor_id in await executors.list_lapsed(database, self._executor_id, now):
            if await asyncio.to_thread(queues.has_work, executor_id):
                if await executors.adopt(database, executor_id, self._lease.holder, now):
                    await asyncio.to_thread(queues.requeue_work, executor_id)
                    ring_all()
            else:
                await executors.forget(database, executor_id, now)

    async def _requeue_idle(self) -> None:
        """Queue again what this process started and does not work on any more, because the database failed."""
        idle = await asyncio.to_thread(queues.list_idle, self._executor_id)
        for workflow_id in (idle & self._idle) - self.parked:  # idle twice: not just leaving the queue
            log.info("workflow.queued_again", workflow=workflow_id)
            await self._requeue(workflow_id)
        self._idle = idle

    async def _requeue(self, workflow_id: str) -> None:
        await asyncio.to_thread(queues.requeue, self._executor_id, workflow_id)
        ring_all()  # nobody says in which queue it is


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
