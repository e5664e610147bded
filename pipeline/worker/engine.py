"""Runs DBOS on our database, and keeps the sweeps going."""

import asyncio
import contextlib
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from functools import wraps
from typing import Any

import structlog
from dbos import DBOS, DBOSConfig, DBOSPortableJSONSerializer
from dbos._error import DBOSUnexpectedStepError  # not exported

from domain.errors import DatabaseUnavailable, ForgeError
from memory.db.engine import Engine, is_outage
from pipeline.context import Services
from pipeline.durable.journal import Parked
from pipeline.durable.restart import restart_workflow
from pipeline.durable.steps import make_interruption
from pipeline.durable.workflows import APP_VERSION, RUN, Workflow
from pipeline.worker.lease import ProcessLease
from pipeline.worker.precedence import give_way
from pipeline.worker.queues import prepare_queues
from pipeline.worker.settings import EngineSettings
from pipeline.worker.sweeps import Sweep, Sweeps
from pipeline.worker.workflows import WORK, Work

log = structlog.get_logger(__name__)

_SECOND = 1.0
_RECOVERIES = 1_000_000  # our own rules end work, never a count of restarts


class WorkflowEngine:
    """DBOS in this process. Only one at a time, because DBOS keeps its state in globals.

    :param engine: an engine on the database of ``services``.
    """

    def __init__(self, services: Services, engine: Engine, settings: EngineSettings) -> None:
        self._services = services
        self._engine = engine
        self._settings = settings
        self._lease = ProcessLease(services, settings.executor_id)
        self.displaced = self._lease.displaced
        self._tasks: list[asyncio.Task[None]] = []
        self._active = 0  # workflows that run now
        self._sweeps = Sweeps(services, settings.executor_id)

    async def start(self) -> None:
        """Take the lease, launch DBOS on the running event loop, and start the sweeps.

        :raises ConfigurationError: another live process has this executor id.
        """
        await self._lease.take()
        await asyncio.to_thread(prepare_queues, self._engine, self._settings)
        DBOS(config=self._config())
        for workflow, work in WORK.items():
            self._register(workflow, work)
        DBOS.launch()
        often = [(each, _SECOND) for each in self._sweeps.every_second]
        rest = [(each, self._settings.heartbeat) for each in (self.renew, *self._sweeps.every_heartbeat)]
        self._tasks = [asyncio.create_task(self._repeat(sweep, pause)) for sweep, pause in (*often, *rest)]

    async def stop(self, grace: float = 10) -> None:
        """Stop taking work, give running steps ``grace`` seconds, and release the lease.

        Unfinished work continues at the next start.
        """
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._sweeps.stop()
        wait = int(grace) if self._active else 0
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
    def _track_execution(self) -> Generator[None]:
        """Around a workflow: an outage of the database interrupts it, so that the outage is never its outcome."""
        self._active += 1
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
                if workflow is RUN:
                    await give_way()
                try:
                    return await work(self._services, *arguments)
                except DBOSUnexpectedStepError as error:
                    if not workflow.restarts:
                        raise
                    return await restart_workflow(error, DBOS.workflow_id or "", workflow, *arguments)

        DBOS.workflow(name=workflow.name, max_recovery_attempts=_RECOVERIES)(execute)

    async def _repeat(self, sweep: Sweep, pause: float) -> None:
        """Repeat a sweep; a failure is logged and does not end it.

        :param pause: seconds in between.
        """
        while True:
            try:
                await sweep()
            except ForgeError as error:
                log.warning("sweep.failed", sweep=sweep.__name__, error=str(error))
            except Exception:
                log.exception("sweep.failed", sweep=sweep.__name__)
            await asyncio.sleep(pause)
