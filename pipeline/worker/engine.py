"""Runs DBOS on our database, and keeps the process's lease and the sweeps going."""

import asyncio
import contextlib
import os
import socket
from collections.abc import Awaitable, Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from functools import wraps
from typing import Any

import structlog
from dbos import DBOS, DBOSClient, DBOSConfig, DBOSPortableJSONSerializer
from dbos._error import DBOSNonExistentWorkflowError, DBOSUnexpectedStepError  # not exported

from domain.errors import ConfigurationError, DatabaseUnavailable, ForgeError
from domain.ids import new_id
from memory.db.engine import Engine, is_outage
from memory.gates import gates
from memory.process import executors, halts
from memory.process.executors import LEASE, Holder
from memory.runs import waits
from pipeline.automation.workflow import enqueue_due_checks
from pipeline.context import Services
from pipeline.durable.journal import WAKE, Parked
from pipeline.durable.queues import enqueue_resume
from pipeline.durable.restart import restart_workflow
from pipeline.durable.steps import make_interruption
from pipeline.durable.workflows import (
    APP_VERSION,
    DELIVERIES,
    HEARINGS,
    LEARNING,
    RUNS,
    TESTS,
    Workflow,
)
from pipeline.learning.consolidation import ConsolidationSweep
from pipeline.learning.reflection_queue import ReflectionSweep
from pipeline.maintenance.retention import Retention
from pipeline.worker import recovery
from pipeline.worker.workflows import WORK, Work

log = structlog.get_logger(__name__)

_RECOVERIES = 1_000_000  # work is given up by our own rules, never by a count of restarts
_HEARINGS_AT_ONCE = 4  # in this process: each waits for a model
_LEARNING_AT_ONCE = 2  # in this process: nobody waits for it
_TESTS_AT_ONCE = 2  # that somebody asked for, in this process: each takes processors and a gigabyte
# Every look into a queue is three statements, and most find nothing: work that takes long may begin a little later.
_LONG, _LONGER = 2.5, 5  # times the polling of what comes in and of runs: where somebody waits, where nobody does
HEARTBEAT = 5.0  # seconds


@dataclass(frozen=True)
class EngineSettings:
    """How a process takes part in the work.

    :param executor_id: stable and unique per process slot.
    :param polling: seconds between two looks for what came in and for runs; longer for what is not as urgent.
    :param concurrent_runs: runs at the same time in this process.
    :param heartbeat: seconds between two sweeps; a fraction of the lease.
    """

    executor_id: str
    polling: float = 0.2
    concurrent_runs: int = 4
    heartbeat: float = HEARTBEAT


def build_client(engine: Engine) -> DBOSClient:
    """A DBOS client for the door: it only queues work."""
    return DBOSClient(
        system_database_engine=engine,
        serializer=DBOSPortableJSONSerializer(),
        application_name=APP_VERSION,
        lazy=True,
        retry_connection_errors=False,
    )


def prepare_queues(engine: Engine, settings: EngineSettings) -> None:
    """Bring DBOS's own tables up to date and register the queues, so that its first look finds them."""
    DBOS.migrate(engine.url.render_as_string(hide_password=False))
    queues = build_client(engine)

    def register(name: str, at_once: int, *, polls: float = 1, in_turn: bool = True) -> None:
        queues.register_queue(
            name,
            worker_concurrency=at_once,
            partition_concurrency=1 if in_turn else None,
            polling_interval_sec=settings.polling * polls,
            on_conflict="always_update",
        )

    register(DELIVERIES, 200, in_turn=False)
    register(RUNS, settings.concurrent_runs)
    register(TESTS, _TESTS_AT_ONCE, polls=_LONG)
    register(HEARINGS, _HEARINGS_AT_ONCE, polls=_LONG)
    register(LEARNING, _LEARNING_AT_ONCE, polls=_LONGER)


class WorkflowEngine:
    """DBOS in this process. There can be one at a time, since DBOS keeps its state in globals.

    ``displaced`` is set once another process may have taken over this one's work, e.g. because it was frozen: then it
    must end at once, as if killed, and begin anew.

    :param engine: an engine on the database of ``services``.
    """

    def __init__(self, services: Services, engine: Engine, settings: EngineSettings) -> None:
        self._services = services
        self._engine = engine
        self._settings = settings
        self._holder = Holder(settings.executor_id, new_id(), socket.gethostname(), os.getpid())
        self._tasks: list[asyncio.Task[None]] = []
        self._lost = False
        self._renewed: datetime | None = None
        self.displaced = asyncio.Event()
        self._told: set[str] = set()  # gates whose answers are on their way to their runs
        self._active = 0  # workflows that run at this moment
        self._retention = Retention(services)
        self._attention = ReflectionSweep(services)
        self._nights = ConsolidationSweep(services)
        self._parked: set[str] = set()  # begun here, and waiting without a place
        self._idle: frozenset[str] = frozenset()  # begun, but not running when the last sweep looked

    async def start(self) -> None:
        """Take the lease, launch DBOS on the running event loop and start the sweeps.

        :raises ConfigurationError: if another live process holds this executor id.
        """
        await self._take_lease()
        await asyncio.to_thread(prepare_queues, self._engine, self._settings)
        DBOS(config=self._config())
        for workflow, work in WORK.items():
            self._register(workflow, work)
        DBOS.launch()
        self._tasks = [asyncio.create_task(self._repeat(each)) for each in self._sweeps]

    async def stop(self, grace: float = 10) -> None:
        """Stop taking work, give running steps ``grace`` seconds, and hand back the lease.

        What is not finished goes on at the next start.
        """
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        wait = int(grace) if self._active else 0
        await asyncio.to_thread(DBOS.destroy, destroy_registry=True, workflow_completion_timeout_sec=wait)
        # DBOS made its thread pool the loop's, and has just shut it down.
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor())
        with contextlib.suppress(ForgeError):
            await executors.release(self._services.database, self._holder, self._services.clock.now())

    @property
    def is_running(self) -> bool:
        """Whether the sweeps go on and the lease is ours."""
        return bool(self._tasks) and not self._lost and not any(task.done() for task in self._tasks)

    @property
    def _sweeps(self) -> Sequence[Callable[[], Awaitable[None]]]:
        return (
            self.renew,
            self._wake_due,
            self._answer_gates,
            self._adopt_work,
            self._requeue_idle,
            self._retention.sweep,
            self._attention.enqueue_reflections,
            self._nights.enqueue_consolidations,
        )

    @contextlib.contextmanager
    def _track_execution(self) -> Generator[None]:
        """Around a workflow: an outage of the database interrupts it and is never its outcome, and no wait keeps it."""
        self._active += 1
        try:
            yield
        except Parked:
            self._parked.add(DBOS.workflow_id or "")
            raise
        except Exception as error:
            if isinstance(error, DatabaseUnavailable) or is_outage(error):
                raise make_interruption(error) from error
            raise
        finally:
            self._active -= 1

    def _config(self) -> DBOSConfig:
        return {
            "name": APP_VERSION,
            "system_database_url": str(self._engine.url),
            "system_database_engine": self._engine,
            "serializer": DBOSPortableJSONSerializer(),
            "application_version": APP_VERSION,
            "executor_id": self._settings.executor_id,
            "notification_listener_polling_interval_sec": self._settings.polling,
            "log_level": "ERROR",
        }

    def _register(self, workflow: Workflow, work: Work) -> None:
        @wraps(work)
        async def execute(*arguments: Any) -> str:
            with self._track_execution():
                try:
                    return await work(self._services, *arguments)
                except DBOSUnexpectedStepError as error:
                    if not workflow.restarts:
                        raise
                    return await restart_workflow(error, DBOS.workflow_id or "", workflow, *arguments)

        DBOS.workflow(name=workflow.name, max_recovery_attempts=_RECOVERIES)(execute)

    async def _take_lease(self) -> None:
        database, clock = self._services.database, self._services.clock
        other = await executors.take(database, self._holder, clock.now())
        if other is not None and _is_dead(other):
            other = await executors.take(database, self._holder, clock.now(), force=True)
        if other is not None:
            raise ConfigurationError(
                f"FORGE_EXECUTOR_ID {other.executor_id} is in use by process {other.pid} on {other.host}.",
                "Give each process its own, or wait half a minute if that process has just died.",
            )

    async def _repeat(self, work: Callable[[], Awaitable[None]]) -> None:
        """Do a sweep again and again; a failure is logged and does not end it."""
        while True:
            try:
                await work()
            except ForgeError as error:
                log.warning("sweep.failed", sweep=work.__name__, error=str(error))
            except Exception:
                log.exception("sweep.failed", sweep=work.__name__)
            await asyncio.sleep(1.0 if work in {self._wake_due, self._answer_gates} else self._settings.heartbeat)

    async def renew(self) -> None:
        """Renew the lease, a write that also proves that the database takes part.

        :raises DatabaseUnavailable: if it does not.
        """
        now = self._services.clock.now()
        lapsed = self._renewed is not None and now - self._renewed > LEASE
        other = await executors.take(self._services.database, self._holder, now)
        self._renewed, self._lost = now, other is not None
        if lapsed or self._lost:
            self.displaced.set()
        if other is not None:
            log.error("lease.lost", executor=self._settings.executor_id, to_pid=other.pid, to_host=other.host)

    async def _wake_due(self) -> None:
        now = self._services.clock.now()
        await halts.resume_waiting(self._services.database, now)
        await self._unpark(now)
        for workflow_id in await waits.list_due(self._services.database, now):
            if workflow_id in self._parked:
                continue
            with contextlib.suppress(DBOSNonExistentWorkflowError):  # purged while it waited
                await DBOS.send_async(workflow_id, None, WAKE, idempotency_key=f"{workflow_id}@{now.isoformat()}")
            await waits.remove_due(self._services.database, workflow_id, now)
        await enqueue_due_checks(self._services)

    async def _unpark(self, now: datetime) -> None:
        """Queue again what left its place to wait and has nothing to wait for any more."""
        left = self._parked.difference(await asyncio.to_thread(recovery.list_active)) if self._parked else set[str]()
        if not left:
            return
        for workflow_id in left - await waits.filter_waiting(self._services.database, sorted(left), now):
            self._parked.discard(workflow_id)  # first: it may leave its place again at once
            await asyncio.to_thread(recovery.requeue, self._settings.executor_id, workflow_id)
            await waits.remove_due(self._services.database, workflow_id, now)

    async def _answer_gates(self) -> None:
        """Close the gates nobody answered in time, and let runs go on whose answer did not reach them."""
        await gates.expire(self._services.database, self._services.clock.now())
        answered = await gates.list_answered(self._services.database)
        for gate, run in answered:
            if gate.id not in self._told:
                await enqueue_resume(run, gate.id)
        self._told = {gate.id for gate, _ in answered}

    async def _adopt_work(self) -> None:
        """Go on with the work of processes whose lease ran out."""
        lapsed = await executors.list_lapsed(
            self._services.database, self._settings.executor_id, self._services.clock.now()
        )
        for executor_id in lapsed:
            await asyncio.to_thread(recovery.requeue_work, executor_id)
            await executors.forget(self._services.database, executor_id, self._services.clock.now())

    async def _requeue_idle(self) -> None:
        """Queue again what this process began and does not work on any more, because the database failed under it."""
        executor_id = self._settings.executor_id
        idle = await asyncio.to_thread(recovery.list_idle, executor_id)
        for workflow_id in (idle & self._idle) - self._parked:  # twice idle: not just on its way from the queue
            log.info("workflow.queued_again", workflow=workflow_id)
            await asyncio.to_thread(recovery.requeue, executor_id, workflow_id)
        self._idle = idle


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
