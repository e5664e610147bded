"""Starts the parts of a process, each once, and stops them in reverse order."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial

import structlog

from agents.llm.models import Models
from bot.clock import SystemClock
from bot.current_database import migrate
from bot.doors import Doors, open_doors
from bot.prometheus import Metrics
from bot.services import build_host, build_services
from bot.settings import Settings, hide_own_secrets
from bot.webhook import BODY_SECONDS
from domain.ports import Clock
from memory.db.engine import BUSY_SECONDS, Database, sync_engine
from memory.process import executors
from pipeline.context import PROGRESS_DELAY, SETTLING, Services
from pipeline.deliveries.intake import PATIENCE
from pipeline.durable.journal import LAG, PAUSES, STUBBORN, Durable, run_durable_step
from pipeline.maintenance.redelivery import Redelivery
from pipeline.worker.engine import WorkflowEngine
from pipeline.worker.lease import ProcessLease
from pipeline.worker.queues import HEARTBEAT, EngineSettings
from workspace.sandbox.worker_pool import WorkerPool


@dataclass(frozen=True)
class Patience:
    """How long Forge waits for things, in seconds. Tests wait less.

    :param body: for the body of a webhook.
    :param door: until a delivery is stored; its database connection waits a little less.
    :param worker: for the database, everywhere else.
    :param heartbeat: between two sweeps.
    :param stubborn: a count, not seconds: how often the longest pause is repeated where giving up would lose work.
    :param telling: before progress is written, if nothing newer replaces it.
    :param lag: pauses before reading again what a webhook reported and GitHub's API does not show yet.
    :param settling: until GitHub's API shows what Forge wrote.
    """

    body: float = BODY_SECONDS
    door: float = PATIENCE
    worker: float = BUSY_SECONDS
    heartbeat: float = HEARTBEAT
    stubborn: int = STUBBORN
    telling: float = PROGRESS_DELAY
    lag: Sequence[float] = LAG
    settling: float = SETTLING

    def apply_to(self, services: Services) -> Services:
        return replace(
            services,
            lag=self.lag,
            settling=self.settling,
            stubbornness=self.stubborn,
            progress_delay=self.telling,
        )

    def build_engine_settings(self, slot: str, polling: float, concurrent_runs: int) -> EngineSettings:
        return EngineSettings(slot, polling=polling, concurrent_runs=concurrent_runs, heartbeat=self.heartbeat)


USUAL = Patience()


log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Forge:
    """The parts of a running Forge."""

    settings: Settings
    services: Services
    workflows: WorkflowEngine
    doors: Doors | None
    redelivery: Redelivery
    metrics: Metrics


@asynccontextmanager
async def forge(
    settings: Settings,
    *,
    door: bool = True,
    clock: Clock | None = None,
    pauses: Sequence[float] = PAUSES,
    durable: Durable = run_durable_step,
    patience: Patience = USUAL,
    models: Models | None = None,
    pool: WorkerPool | None = None,
) -> AsyncGenerator[Forge]:
    """Start everything on the running event loop, and stop it at the end.

    :param door: whether to accept webhooks, or only to do work (``forge worker``).
    :param clock: the tests' own clock.
    :param pauses: seconds before each repetition of a failed step.
    :param durable: how a step is made durable.
    :param patience: how long to wait for things.
    :param models: replace the models of the settings in tests and in the demo.
    :param pool: workers that tests have already started.
    :raises ConfigurationError: if a setting is wrong.
    :raises DatabaseUnavailable: if the database cannot be opened or migrated.
    """
    hide_own_secrets(settings)
    _ = settings.github  # raises for a wrong key or address before anything starts
    clock = clock or SystemClock()
    async with AsyncExitStack() as stack:
        settings.make_data_dir()
        engine = sync_engine(settings.database_url, busy_seconds=patience.worker)
        stack.callback(engine.dispose)
        await migrate(engine)
        log.info("preparing", what="tools, sandbox, queues")
        database = Database(settings.database_url, busy_seconds=patience.worker)
        stack.push_async_callback(database.close)
        metrics = Metrics(database.bus, database)
        lease = ProcessLease(database, clock, settings.slot)
        host = build_host(settings, database, clock, lease.require)
        stack.push_async_callback(host.aclose)
        services = patience.apply_to(await build_services(settings, database, host, clock, stack, pool))
        services = replace(services, pauses=pauses, durable=durable, models=models or settings.models)
        taking_part = patience.build_engine_settings(settings.slot, settings.queue_polling, settings.concurrent_runs)
        workflows = WorkflowEngine(services, engine, taking_part, lease)
        await workflows.start()
        stack.push_async_callback(workflows.stop)
        opened = open_doors(settings, database, clock, metrics, patience=patience.door, body_seconds=patience.body)
        redelivery = Redelivery(
            database,
            host.deliveries,
            clock,
            settings.app_id,
            look=patience.heartbeat,
            is_any_door_open=None if door else partial(executors.is_any_door_open, database, clock),
            count=metrics.count_redelivery,
        )
        entrance = await stack.enter_async_context(opened) if door else None
        yield Forge(settings, services, workflows, entrance, redelivery, metrics)
