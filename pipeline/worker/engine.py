"""Runs DBOS on our database, and keeps the sweeps going."""

import asyncio
import contextlib
from collections import Counter
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from functools import wraps
from typing import Any

import structlog
from dbos import DBOS, DBOSConfig, DBOSPortableJSONSerializer
from dbos._error import DBOSUnexpectedStepError  # not exported

from domain.errors import DatabaseUnavailable, ForgeError
from memory.db.engine import Engine, is_outage
from memory.db.postgresql import Announcer, listen
from pipeline.context import Services
from pipeline.durable.journal import Parked, make_interruption
from pipeline.durable.queues import APP_VERSION, BELL, QUEUES, RUN, Workflow, restart_workflow
from pipeline.worker import queues
from pipeline.worker.lease import ProcessLease
from pipeline.worker.queues import EngineSettings, QueueAlarms, give_way, prepare_queues
from pipeline.worker.sweeps import Lookout, Sweep, Sweeps
from pipeline.worker.workflows import WORK, Work

log = structlog.get_logger(__name__)

_SECOND = 1.0
_NEVER = 24 * 3600.0  # seconds: Forge has no schedules in DBOS
_RECOVERIES = 1_000_000  # our own rules end work, never a count of restarts


class WorkflowEngine:
    """DBOS in this process. Only one at a time, because DBOS keeps its state in globals.

    :param engine: an engine on the database of ``services``.
    :param lease: of this process, not yet taken.
    """

    def __init__(self, services: Services, engine: Engine, settings: EngineSettings, lease: ProcessLease) -> None:
        self._services = services
        self._engine = engine
        self._settings = settings
        self._lease = lease
        self.displaced = self._lease.displaced
        self._tasks: list[asyncio.Task[None]] = []
        self._active = Counter[str]()  # workflows that run now, by their queue
        self._sweeps = Sweeps(services, lease)
        self._alarms = QueueAlarms(QUEUES, self._active)
        self._lookout = Lookout(services.database, services.clock, lambda: self._active.total() > 0, self._find_queued)
        self._hearing = AsyncExitStack()  # what it hears of the bell, here and in other processes

    async def start(self) -> None:
        """Take the lease, launch DBOS on the running event loop, and start the sweeps.

        :raises ConfigurationError: another live process has this executor id.
        """
        await self._lease.take()
        self._tasks = [self._keep(self._lease.renew)]  # a start on a busy machine may take longer than a lease
        try:
            await asyncio.to_thread(prepare_queues, self._engine, self._settings)
            DBOS(config=self._config())
            for workflow, work in WORK.items():
                self._register(workflow, work)
            self._alarms.install()
            DBOS.launch()
        except BaseException:
            await self._stop_sweeps()
            raise
        self._hearing.enter_context(BELL.listen(self._hear))
        if self._engine.dialect.name == "postgresql":
            announcer = Announcer(self._engine)
            self._hearing.enter_context(BELL.listen(announcer.tell))
            await self._hearing.enter_async_context(announcer.run())
            await self._hearing.enter_async_context(listen(self._engine, self._hear, self._alarms.ring_all))
        self._tasks += [self._keep(self._look, _SECOND), *map(self._keep, self._sweeps.every_heartbeat)]

    async def stop(self, grace: float = 10) -> None:
        """Stop taking work, give running steps ``grace`` seconds, and release the lease.

        Unfinished work continues at the next start.
        """
        await self._stop_sweeps()
        await self._hearing.aclose()
        wait = int(grace) if self._active.total() else 0
        await asyncio.to_thread(DBOS.destroy, destroy_registry=True, workflow_completion_timeout_sec=wait)
        # DBOS made its thread pool the default of the loop, and has just shut it down.
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor())
        with contextlib.suppress(ForgeError):
            await self._lease.release()

    @property
    def is_running(self) -> bool:
        """Whether the sweeps run and the lease is ours."""
        return bool(self._tasks) and not self._lease.is_lost and not any(task.done() for task in self._tasks)

    async def renew(self) -> None:
        """See :meth:`ProcessLease.renew`."""
        await self._lease.renew()

    @contextlib.contextmanager
    def _track_execution(self, workflow: Workflow) -> Generator[None]:
        """Around an execution: an outage of the database interrupts it, so that the outage is never its outcome."""
        self._active[workflow.queue] += 1
        try:
            yield
        except Parked:
            self._sweeps.parked.add(DBOS.workflow_id or "")
            raise
        except Exception as error:
            if isinstance(error, DatabaseUnavailable) or is_outage(error):
                raise make_interruption(error) from error
            raise
        finally:
            self._active[workflow.queue] -= 1
            BELL.ring(workflow.queue)  # the next of its partition may go on, here or elsewhere

    def _config(self) -> DBOSConfig:
        return {
            "name": APP_VERSION,
            "system_database_url": str(self._engine.url),
            "system_database_engine": self._engine,
            "serializer": DBOSPortableJSONSerializer(),
            "application_version": APP_VERSION,
            "executor_id": self._settings.executor_id,
            "notification_listener_polling_interval_sec": _SECOND,
            "notification_coalesce_sec": _SECOND,
            "scheduler_polling_interval_sec": _NEVER,
            "log_level": "ERROR",
        }

    def _register(self, workflow: Workflow, work: Work) -> None:
        @wraps(work)
        async def execute(*arguments: Any) -> str:
            with self._track_execution(workflow):
                if workflow is RUN:
                    await give_way()
                try:
                    return await work(self._services, *arguments)
                except DBOSUnexpectedStepError as error:
                    if not workflow.restarts:
                        raise
                    return await restart_workflow(error, DBOS.workflow_id or "", workflow, *arguments)

        DBOS.workflow(name=workflow.name, max_recovery_attempts=_RECOVERIES)(execute)

    async def _stop_sweeps(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _hear(self, queue: str) -> None:
        self._alarms.ring(queue)
        self._lookout.wake()

    async def _find_queued(self) -> None:
        if await asyncio.to_thread(queues.has_queued):
            self._alarms.ring_all()

    def _keep(self, sweep: Sweep, seconds: float | None = None) -> asyncio.Task[None]:
        """Repeat a sweep in the background after so many seconds; by default with each heartbeat."""
        return asyncio.create_task(self._repeat(sweep, seconds or self._settings.heartbeat))

    async def _repeat(self, sweep: Sweep, seconds: float) -> None:
        while True:
            await self._attempt(sweep)
            await asyncio.sleep(seconds)

    async def _look(self) -> None:
        """Make the sweeps of every second, those seconds in which something may have happened."""
        if await self._lookout.is_time():
            for sweep in self._sweeps.every_second:
                await self._attempt(sweep)

    async def _attempt(self, sweep: Sweep) -> None:
        """A failure is logged, and ends nothing."""
        try:
            await sweep()
        except ForgeError as error:
            log.warning("sweep.failed", sweep=sweep.__name__, error=str(error))
        except Exception:
            log.exception("sweep.failed", sweep=sweep.__name__)
