"""Opens the doors through which GitHub and monitoring report, in a process that works or one that only takes."""

import asyncio
import gc
import os
import socket
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

import structlog
from aiohttp import web

from bot.cli.process import raise_open_files, stop_signal
from bot.clock import SystemClock
from bot.current_database import migrate, require_shared_database
from bot.feedback import FeedbackDoor, open_feedback
from bot.health import ProcessHealth
from bot.listener import listen
from bot.prometheus import Metrics, add_metrics
from bot.settings import DoorSettings, hide_secrets_of_door
from bot.version import VERSION
from bot.webhook import BODY_SECONDS, MAX_BODY, Door
from domain.errors import DatabaseUnavailable
from domain.ports import Clock
from domain.value import new_id
from memory.db.engine import Database, sync_engine
from memory.db.postgresql import Announcer
from memory.process import executors
from pipeline.deliveries.intake import PATIENCE, Intake
from pipeline.durable.queues import BELL
from pipeline.worker.queues import build_client, prepare_tables

__all__ = ["BODY_SECONDS", "PATIENCE", "Doors", "open_doors"]


@dataclass(frozen=True)
class Doors:
    """The doors of a process."""

    webhooks: Door
    feedback: FeedbackDoor

    def add_to(self, app: web.Application) -> None:
        """Add their addresses to an application."""
        app.router.add_post("/webhook", self.webhooks.receive)
        app.router.add_post("/", self.webhooks.receive)
        self.feedback.add_routes(app.router)


@asynccontextmanager
async def open_doors(
    settings: DoorSettings,
    database: Database,
    clock: Clock,
    metrics: Metrics,
    *,
    patience: float = PATIENCE,
    body_seconds: float = BODY_SECONDS,
) -> AsyncGenerator[Doors]:
    """The doors, with connections of their own; what was accepted is stored before they close.

    :param patience: seconds until a delivery or report must be stored; connections wait a little less.
    :param body_seconds: how long a body may take to arrive.
    """
    engine = sync_engine(settings.database_url, busy_seconds=patience * 0.8, urgent=True)
    client = build_client(engine)
    intake = Intake(engine, client, patience)
    intake.start()
    secrets = [secret.get_secret_value() for secret in settings.webhook_secret]
    count = metrics.count_delivery
    door = Door(intake, clock, settings.app_id, secrets, body_seconds=body_seconds, count=count)
    feedback = open_feedback(database, client, clock, settings.ceilings, patience=patience, count=metrics.count_report)
    try:
        yield Doors(door, feedback)
    finally:
        await intake.stop()
        engine.dispose()


log = structlog.get_logger(__name__)

RENEWAL = 10.0  # seconds; a third of the time for which a door counts as open


class DoorPresence:
    """Says in the database that this door is open, so that those that work have GitHub repeat what it missed."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        door_id = executors.DOOR + new_id()
        self._holder = executors.Holder(door_id, door_id, socket.gethostname(), os.getpid())
        self._renewing: asyncio.Task[None] | None = None

    @property
    def is_running(self) -> bool:
        """Whether it says so now and then."""
        return self._renewing is not None and not self._renewing.done()

    async def renew(self) -> None:
        """:raises DatabaseUnavailable: the database does not work."""
        await executors.keep_door_open(self._database, self._holder, self._clock.now())

    @asynccontextmanager
    async def keep(self) -> AsyncGenerator[None]:
        """Say so until the end."""
        await self.renew()
        self._renewing = asyncio.create_task(self._keep_renewing())
        try:
            yield
        finally:
            self._renewing.cancel()
            await asyncio.gather(self._renewing, return_exceptions=True)
            try:
                await executors.release(self._database, self._holder, self._clock.now())
            except DatabaseUnavailable as error:
                log.warning("door.not_closed", error=str(error))

    async def _keep_renewing(self) -> None:
        while True:
            await asyncio.sleep(RENEWAL)
            try:
                await self.renew()
            except DatabaseUnavailable as error:
                log.warning("door.not_renewed", error=str(error))


@asynccontextmanager
async def serve_door(settings: DoorSettings, clock: Clock | None = None) -> AsyncGenerator[int]:
    """Take webhooks until the end; yields the port.

    :raises ConfigurationError: if a setting is wrong, or the database is one that processes cannot share.
    :raises DatabaseUnavailable: if the database cannot be opened or migrated.
    """
    hide_secrets_of_door(settings)
    require_shared_database(settings.database_url, "`forge door`")
    clock = clock or SystemClock()
    async with AsyncExitStack() as stack:
        engine = sync_engine(settings.database_url)
        stack.callback(engine.dispose)
        await migrate(engine)
        await asyncio.to_thread(prepare_tables, engine)
        database = Database(settings.database_url)
        stack.push_async_callback(database.close)
        announcer = Announcer(engine)
        await stack.enter_async_context(announcer.run())
        stack.enter_context(BELL.listen(announcer.tell))
        metrics = Metrics(database.bus, database)
        opened = await stack.enter_async_context(open_doors(settings, database, clock, metrics))
        presence = DoorPresence(database, clock)
        app = web.Application(client_max_size=MAX_BODY)
        opened.add_to(app)
        health = ProcessHealth("door", presence, database, None)
        app.router.add_get("/healthz", health.alive)
        app.router.add_get("/readyz", health.ready)
        add_metrics(app, metrics, settings)
        port = await stack.enter_async_context(listen(app, settings))
        await stack.enter_async_context(presence.keep())
        yield port


async def take_webhooks(settings: DoorSettings) -> None:
    """Take webhooks and reports of monitoring, and store them for the processes that work, until told to stop."""
    raise_open_files()
    stopped = stop_signal()
    async with serve_door(settings) as port:
        log.info("taking webhooks", version=VERSION, host=settings.host, port=port, pid=os.getpid())
        gc.collect()
        gc.freeze()  # a collection pauses the process, so do not scan lasting objects again
        await stopped.wait()
        log.info("stopping")
