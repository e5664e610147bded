"""Puts the process together and serves it: every part is made here, once, and closed in reverse."""

import asyncio
import errno
import os
import socket
import sqlite3
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, closing, suppress
from dataclasses import dataclass, replace
from functools import partial
from urllib.parse import unquote, urlsplit

from aiohttp import web
from sqlalchemy.exc import DBAPIError, OperationalError

import migrations
from agents.llm.models import Models
from agents.toolbox import Toolbox
from bot.clock import SystemClock
from bot.connections import HEADER_SECONDS, connection_factory
from bot.github.host import GitHubHost
from bot.github.limit_store import StoredBudget, StoredLimits
from bot.health import Health
from bot.prometheus import Metrics
from bot.settings import Settings, provider_secrets
from bot.webhook import BODY_SECONDS, MAX_BODY, Door
from domain.errors import ConfigurationError, DatabaseUnavailable
from domain.ports import Clock
from domain.text.markers import Markers
from domain.text.redaction import PROCESS_REDACTOR
from memory.db.engine import BUSY_SECONDS, Database, Engine, sync_engine
from memory.process import halts
from pipeline.context import PROGRESS_DELAY, SETTLING, Services
from pipeline.durable.steps import LAG, PAUSES, STUBBORN, Durable, run_durable_step
from pipeline.intake import PATIENCE, Intake
from pipeline.maintenance.redelivery import Redelivery
from pipeline.worker.engine import HEARTBEAT, EngineSettings, WorkflowEngine, build_client
from workspace.dependency_cache import DependencyCache
from workspace.mirror import Mirrors
from workspace.temporary import remove_tree

_GRACE_S = 0.02  # seconds in which those whose connection was accepted last can ask


@dataclass(frozen=True)
class Forge:
    """A running Forge: its parts, for the door and for whoever started it."""

    settings: Settings
    services: Services
    workflows: WorkflowEngine
    door: Door | None
    redelivery: Redelivery
    metrics: Metrics


@dataclass(frozen=True)
class Patience:
    """How many seconds things are waited for. Tests have less of it.

    :param body: for the body of a webhook.
    :param door: for a delivery to become durable; its database connection has a little less.
    :param worker: for the database, in everything else.
    :param heartbeat: between two sweeps.
    :param stubborn: not seconds: how often the longest pause is repeated where giving up would lose something.
    :param telling: for progress to last before it is shown.
    :param lag: between two looks at what GitHub told of and does not show yet.
    :param settling: until GitHub shows what was written.
    """

    body: float = BODY_SECONDS
    door: float = PATIENCE
    worker: float = BUSY_SECONDS
    heartbeat: float = HEARTBEAT
    stubborn: int = STUBBORN
    telling: float = PROGRESS_DELAY
    lag: Sequence[float] = LAG
    settling: float = SETTLING


@asynccontextmanager
async def forge(
    settings: Settings,
    *,
    door: bool = True,
    clock: Clock | None = None,
    pauses: Sequence[float] = PAUSES,
    durable: Durable = run_durable_step,
    patience: Patience = Patience(),
    models: Models | None = None,
) -> AsyncGenerator[Forge]:
    """Start everything on the running event loop; stop it again at the end.

    :param door: whether webhooks are accepted, or only work is done (``forge worker``).
    :param clock: another clock, in tests.
    :param pauses: seconds before each repetition of a failed step.
    :param durable: how a step is made durable.
    :param patience: how long things are waited for.
    :param models: other models than those of the settings, in tests and in the demo.
    :raises ConfigurationError: if a setting is wrong.
    :raises DatabaseUnavailable: if the database cannot be opened or migrated.
    """
    _hide_own_secrets(settings)
    _ = settings.github  # a wrong key or address is told before anything is made
    clock = clock or SystemClock()
    async with AsyncExitStack() as stack:
        settings.make_data_dir()
        engine = sync_engine(settings.database_url, busy_seconds=patience.worker)
        stack.callback(engine.dispose)
        await migrate(engine)
        database = Database(settings.database_url, busy_seconds=patience.worker)
        stack.push_async_callback(database.close)
        metrics = Metrics(database.bus, database)
        host = _host(settings, database, clock)
        stack.push_async_callback(host.aclose)
        services = replace(
            await _services(settings, database, host, clock, stack),
            pauses=pauses,
            lag=patience.lag,
            settling=patience.settling,
            stubbornness=patience.stubborn,
            progress_delay=patience.telling,
            durable=durable,
            models=models or settings.models,
        )
        workflows = WorkflowEngine(
            services,
            engine,
            EngineSettings(
                settings.slot,
                polling=settings.queue_polling,
                concurrent_runs=settings.concurrent_runs,
                heartbeat=patience.heartbeat,
            ),
        )
        await workflows.start()
        stack.push_async_callback(workflows.stop)
        entrance = await _door(settings, clock, metrics, patience, stack) if door else None
        redelivery = Redelivery(
            database, host.deliveries, clock, settings.app_id, look=patience.heartbeat, count=metrics.count_redelivery
        )
        yield Forge(settings, services, workflows, entrance, redelivery, metrics)


async def migrate(engine: Engine) -> None:
    """Bring our tables up to date.

    :raises ConfigurationError: if the database is another version's, or none.
    :raises DatabaseUnavailable: if it cannot be reached or written.
    """
    where = engine.url.set(drivername=engine.dialect.name).render_as_string(hide_password=True)
    try:
        await asyncio.to_thread(migrations.upgrade, engine)
    except DatabaseUnavailable as error:
        why = error.message.splitlines()[0].rstrip(".")
        raise DatabaseUnavailable(
            f"FORGE_DATABASE_URL {where} cannot be used: {why}.",
            "Check that it is right, that the database is there, and that Forge may write it.",
        ) from None
    except DBAPIError as error:
        if not isinstance(error.orig, sqlite3.DatabaseError) or isinstance(error, OperationalError):
            raise
        raise ConfigurationError(
            f"FORGE_DATABASE_URL {where} cannot be used: {error.orig}.", "Name another file, or restore this one."
        ) from None


def _host(settings: Settings, database: Database, clock: Clock) -> GitHubHost:
    return GitHubHost(
        settings.github,
        clock,
        StoredLimits(database),
        stop=partial(halts.require_none, database),
        budget=StoredBudget(database, clock),
    )


async def _services(
    settings: Settings, database: Database, host: GitHubHost, clock: Clock, stack: AsyncExitStack
) -> Services:
    return Services(
        database=database,
        host=host,
        clock=clock,
        mirrors=Mirrors(settings.data_dir / "mirrors"),
        toolbox=await stack.enter_async_context(
            Toolbox.start(
                workers=settings.tool_workers,
                user=settings.sandbox_user,
                sandbox=settings.sandbox,
                reads=settings.sandbox_tools,
                proxy=settings.sandbox_proxy,
                cache=await asyncio.to_thread(_cache, settings),
            )
        ),
        markers=Markers(settings.private_key_pem().encode()),
        models=settings.models,
        ceilings=settings.ceilings,
        reflects=settings.reflection,
    )


def _cache(settings: Settings) -> DependencyCache | None:
    """Where what set-ups download is kept; None, and nothing is left of it, where the operator wants none."""
    folder, most = settings.data_dir / "dependencies", settings.dependency_cache
    if most:
        return DependencyCache(folder, most_bytes=most)
    if folder.exists():
        remove_tree(folder)
    return None


def _hide_own_secrets(settings: Settings) -> None:
    """What this process must never say."""
    PROCESS_REDACTOR.learn(
        settings.private_key_pem(),
        *(secret.get_secret_value() for secret in settings.webhook_secret),
        *provider_secrets(),
        *_passwords(settings.database_url),
    )


def _passwords(url: str) -> Sequence[str]:
    """The password in an address, as it stands there and as it is sent: it may be percent-encoded."""
    password = urlsplit(url).password
    return (password, unquote(password)) if password else ()


async def _door(settings: Settings, clock: Clock, metrics: Metrics, patience: Patience, stack: AsyncExitStack) -> Door:
    engine = sync_engine(settings.database_url, busy_seconds=patience.door * 0.8, urgent=True)
    stack.callback(engine.dispose)
    intake = Intake(engine, build_client(engine), patience.door)
    intake.start()
    stack.push_async_callback(intake.stop)
    secrets = [secret.get_secret_value() for secret in settings.webhook_secret]
    return Door(intake, clock, settings.app_id, secrets, body_seconds=patience.body, count=metrics.count_delivery)


def application(running: Forge) -> web.Application:
    """The HTTP surface of a running Forge."""
    app = web.Application(client_max_size=MAX_BODY)
    if running.door is not None:
        app.router.add_post("/webhook", running.door.receive)
        app.router.add_post("/", running.door.receive)
    health = Health(running.workflows, running.services.database, running.settings.data_dir)
    app.router.add_get("/healthz", health.alive)
    app.router.add_get("/readyz", health.ready)
    if running.settings.serves_metrics:
        app.router.add_get("/metrics", running.metrics.expose)
    return app


@asynccontextmanager
async def serve(running: Forge, header_seconds: float = HEADER_SECONDS) -> AsyncGenerator[int]:
    """Serve the HTTP surface; the port it is reached at. Who is served has missed deliveries sent again.

    :param header_seconds: for the headers of a request to arrive.
    """
    runner = web.AppRunner(application(running), shutdown_timeout=5)
    await runner.setup()
    try:
        async with (
            _listen(runner, running.settings, header_seconds) as port,
            _redeliver(running),  # not before, or they would be missed again
        ):
            yield port
    finally:
        await runner.cleanup()


@asynccontextmanager
async def _listen(runner: web.AppRunner, settings: Settings, header_seconds: float) -> AsyncGenerator[int]:
    """Listen at the address of the settings; the port.

    :raises ConfigurationError: if that does not work.
    """
    with closing(await _server(runner, settings, header_seconds)) as server:
        try:
            yield int(server.sockets[0].getsockname()[1])
        finally:
            # What asyncio has accepted and not yet handed on when a server closes is neither answered nor closed
            # (https://github.com/python/cpython/issues/109564), and aiohttp hears nobody any more who has not asked
            # when it ends. So others are turned away first.
            for listener in server.sockets:
                asyncio.get_running_loop().remove_reader(listener.fileno())
                with suppress(OSError):  # not every system knows this of a socket that listens
                    listener.shutdown(socket.SHUT_RDWR)
            await asyncio.sleep(_GRACE_S)


async def _server(runner: web.AppRunner, settings: Settings, header_seconds: float) -> asyncio.Server:
    """Take the address of the settings.

    :raises ConfigurationError: if that does not work.
    """
    assert runner.server is not None  # made by its setup
    accept = connection_factory(runner.server, header_seconds)
    host, port = settings.host, settings.port
    try:
        return await asyncio.get_running_loop().create_server(accept, host, port, backlog=128)
    except (socket.gaierror, UnicodeError) as error:
        why = getattr(error, "strerror", None) or "it is no host name"
        raise ConfigurationError(
            f"FORGE_HOST {host} cannot be resolved: {why}.", "Use an address of this machine, or 0.0.0.0 for all."
        ) from None
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise ConfigurationError(
                f"FORGE_PORT {port} is in use on {host}.", "Stop what uses it, or set another."
            ) from None
        if error.errno == errno.EADDRNOTAVAIL:
            raise ConfigurationError(
                f"FORGE_HOST {host} is no address of this machine.", "Use one that is, or 0.0.0.0 for all."
            ) from None
        why = os.strerror(error.errno) if error.errno else str(error)
        raise ConfigurationError(
            f"FORGE_HOST {host} and FORGE_PORT {port} cannot be served: {why}.", "Choose others."
        ) from None


@asynccontextmanager
async def _redeliver(running: Forge) -> AsyncGenerator[None]:
    """Look for missed deliveries meanwhile, if there is a door they can come to."""
    sweeping = asyncio.create_task(running.redelivery.keep_sweeping()) if running.door is not None else None
    try:
        yield
    finally:
        if sweeping is not None:
            sweeping.cancel()
            await asyncio.gather(sweeping, return_exceptions=True)
