"""Opens the doors through which GitHub and monitoring report to a process: what comes is checked, stored and queued."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from aiohttp import web

from bot.feedback import SOURCES, FeedbackDoor, open_feedback
from bot.prometheus import Metrics
from bot.settings import DoorSettings
from bot.webhook import BODY_SECONDS, Door
from domain.ports import Clock
from memory.db.engine import Database, sync_engine
from pipeline.deliveries.intake import PATIENCE, Intake
from pipeline.worker.queues import build_client

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
        app.router.add_post("/feedback/anomaly", self.feedback.receive_anomaly)
        app.router.add_post("/feedback/error", self.feedback.receive_error)
        app.router.add_post(f"/feedback/{{source:{'|'.join(SOURCES)}}}", self.feedback.receive_source)
        for signal in ("logs", "traces"):
            app.router.add_post(f"/feedback/opentelemetry/v1/{signal}", self.feedback.receive_telemetry)
        app.router.add_post("/feedback/sentry/{id}", self.feedback.receive_sentry)


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
