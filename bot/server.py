"""Serves the HTTP endpoints of a running Forge: webhooks, dashboard, health, metrics, schema of configurations."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from aiohttp import web

from bot.app import Forge
from bot.dashboard.site import Dashboard
from bot.health import ProcessHealth
from bot.listener import HEADER_SECONDS, HeldPort, listen
from bot.prometheus import add_metrics
from bot.webhook import MAX_BODY
from domain.config.configuration import ADDRESS, build_schema


def application(running: Forge) -> web.Application:
    """The HTTP endpoints of a running Forge."""
    app = web.Application(client_max_size=MAX_BODY)
    if running.doors is not None:
        running.doors.add_to(app)
        dashboard = Dashboard(running.services, running.settings)
        dashboard.add_routes(app.router)
        app.on_cleanup.append(lambda _app: dashboard.aclose())
    app.router.add_get(ADDRESS, ConfigurationSchema(running.settings.public_url).show)
    health = ProcessHealth("engine", running.workflows, running.services.database, running.settings.data_dir)
    app.router.add_get("/healthz", health.alive)
    app.router.add_get("/readyz", health.ready)
    add_metrics(app, running.metrics, running.settings)
    return app


@asynccontextmanager
async def serve(
    running: Forge, header_seconds: float = HEADER_SECONDS, held: HeldPort | None = None
) -> AsyncGenerator[int]:
    """Serve the HTTP endpoints, and have GitHub repeat missed deliveries; yields the port.

    :param header_seconds: in which the headers of a request must arrive.
    :param held: the port that the set-up left.
    """
    async with (
        listen(application(running), running.settings, header_seconds, held) as port,
        _redeliver(running),  # only now can they arrive
    ):
        yield port


@asynccontextmanager
async def _redeliver(running: Forge) -> AsyncGenerator[None]:
    """Look for missed deliveries in the background."""
    sweeping = asyncio.create_task(running.redelivery.keep_sweeping())
    try:
        yield
    finally:
        sweeping.cancel()
        await asyncio.gather(sweeping, return_exceptions=True)


class ConfigurationSchema:
    """Answers ``GET /schema/forge.yml.json``.

    :param public_url: of this server; empty: the schema names itself by its path alone, which counts from where it was
        read. The name in a request could be anybody's.
    """

    def __init__(self, public_url: str) -> None:
        self._id = f"{public_url}{ADDRESS}"

    async def show(self, _request: web.Request) -> web.Response:
        """The schema of this version. Everybody may read it, pages of other servers too: it holds no secret."""
        return web.Response(
            text=json.dumps({"$id": self._id, **build_schema()}, ensure_ascii=False),
            content_type="application/schema+json",
            headers={"Access-Control-Allow-Origin": "*", "Cache-Control": "public, max-age=3600"},
        )
