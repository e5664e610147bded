"""Puts the process together and serves it: every part is made here, once, and closed in reverse."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace

from aiohttp import web

import migrations
from agents.checks import Toolbox
from bot.clock import SystemClock
from bot.github.host import GitHubHost
from bot.github.settings import GitHubSettings
from bot.github_limits import StoredLimits
from bot.health import Health
from bot.metrics import Metrics
from bot.settings import Settings
from bot.webhook import LARGEST_BODY, Door
from domain.markers import Markers
from domain.ports import Clock
from memory.database import Database, sync_engine
from pipeline.engine import EngineSettings, WorkflowEngine, client
from pipeline.intake import Intake
from pipeline.services import Services
from pipeline.steps import PAUSES, Durable, durable
from workspace.mirror import Mirrors


@dataclass(frozen=True)
class Forge:
    """A running Forge: its parts, for the door and for whoever started it."""

    settings: Settings
    services: Services
    workflows: WorkflowEngine
    door: Door | None
    metrics: Metrics


@asynccontextmanager
async def forge(
    settings: Settings,
    *,
    door: bool = True,
    clock: Clock | None = None,
    pauses: Sequence[float] = PAUSES,
    durable: Durable = durable,
) -> AsyncGenerator[Forge]:
    """Start everything on the running event loop; stop it again at the end.

    :param door: whether webhooks are accepted, or only work is done (``forge worker``).
    :param clock: another clock, in tests.
    :param pauses: seconds before each repetition of a failed step.
    :param durable: how a step is made durable.
    :raises ConfigurationError: if a setting is wrong.
    :raises DatabaseUnavailable: if the database cannot be opened or migrated.
    """
    clock = clock or SystemClock()
    async with AsyncExitStack() as stack:
        settings.data_dir.mkdir(parents=True, exist_ok=True)
        engine = sync_engine(settings.database_url)
        stack.callback(engine.dispose)
        await asyncio.to_thread(migrations.upgrade, engine)
        database = Database(settings.database_url)
        stack.push_async_callback(database.close)
        metrics = Metrics(database.bus)
        services = replace(await _services(settings, database, clock, stack), pauses=pauses, durable=durable)
        workflows = WorkflowEngine(
            services,
            engine,
            EngineSettings(settings.slot, polling=settings.queue_polling, concurrent_runs=settings.concurrent_runs),
        )
        await workflows.start()
        stack.push_async_callback(workflows.stop)
        yield Forge(settings, services, workflows, await _door(settings, clock, stack) if door else None, metrics)


async def _services(settings: Settings, database: Database, clock: Clock, stack: AsyncExitStack) -> Services:
    key = settings.private_key_pem()
    host = GitHubHost(
        GitHubSettings(settings.github_api_url, settings.github_web_url, settings.app_id, key, settings.write_interval),
        clock,
        StoredLimits(database),
    )
    stack.push_async_callback(host.aclose)
    return Services(
        database=database,
        host=host,
        clock=clock,
        mirrors=Mirrors(settings.data_dir / "mirrors"),
        toolbox=await stack.enter_async_context(Toolbox.start(user=settings.sandbox_user)),
        markers=Markers(key.encode()),
    )


async def _door(settings: Settings, clock: Clock, stack: AsyncExitStack) -> Door:
    engine = sync_engine(settings.database_url, busy_seconds=2.5)
    stack.callback(engine.dispose)
    intake = Intake(engine, client(engine))
    intake.start()
    stack.push_async_callback(intake.stop)
    return Door(intake, clock, settings.app_id, [secret.get_secret_value() for secret in settings.webhook_secret])


def application(running: Forge) -> web.Application:
    """The HTTP surface of a running Forge."""
    app = web.Application(client_max_size=LARGEST_BODY)
    if running.door is not None:
        app.router.add_post("/webhook", running.door.receive)
        app.router.add_post("/", running.door.receive)
    health = Health(running.services.database, running.workflows, running.settings.data_dir)
    app.router.add_get("/healthz", health.alive)
    app.router.add_get("/readyz", health.ready)
    if running.settings.serves_metrics:
        app.router.add_get("/metrics", running.metrics.exposed)
    return app


@asynccontextmanager
async def served(running: Forge) -> AsyncGenerator[int]:
    """Serve the HTTP surface; the port it is reached at."""
    runner = web.AppRunner(application(running), access_log=None, shutdown_timeout=5)
    await runner.setup()
    try:
        site = web.TCPSite(runner, running.settings.host, running.settings.port)
        await site.start()
        yield int(runner.addresses[0][1])
    finally:
        await runner.cleanup()
