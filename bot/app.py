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
from bot.own_secrets import hide_own_secrets
from bot.patience import USUAL, Patience
from bot.prometheus import Metrics
from bot.services import build_host, build_services
from bot.settings import Settings
from domain.ports import Clock
from memory.db.engine import Database, sync_engine
from memory.process import executors
from pipeline.context import Services
from pipeline.durable.journal import PAUSES, Durable, run_durable_step
from pipeline.maintenance.redelivery import Redelivery
from pipeline.worker.engine import WorkflowEngine
from pipeline.worker.lease import ProcessLease
from workspace.sandbox.worker_pool import WorkerPool

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
