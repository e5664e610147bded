"""Serves the HTTP endpoints of a running Forge: webhooks, dashboard, health, metrics, schema of configurations."""

import asyncio
import errno
import os
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, closing, suppress

from aiohttp import web

from bot.app import Forge
from bot.connections import HEADER_SECONDS, connection_factory
from bot.dashboard.site import Dashboard
from bot.health import ProcessHealth
from bot.schema import ConfigurationSchema
from bot.settings import Installation
from bot.webhook import MAX_BODY
from domain.config.schema import ADDRESS
from domain.errors import ConfigurationError

_GRACE_S = 0.02  # seconds in which the connections accepted last can still send their request


def application(running: Forge) -> web.Application:
    """The HTTP endpoints of a running Forge."""
    app = web.Application(client_max_size=MAX_BODY)
    if running.door is not None:
        app.router.add_post("/webhook", running.door.receive)
        app.router.add_post("/", running.door.receive)
        dashboard = Dashboard(running.services, running.settings)
        dashboard.add_routes(app.router)
        app.on_cleanup.append(lambda _app: dashboard.aclose())
    if running.feedback is not None:
        app.router.add_post("/feedback/anomaly", running.feedback.receive_anomaly)
        app.router.add_post("/feedback/error", running.feedback.receive_error)
    app.router.add_get(ADDRESS, ConfigurationSchema(running.settings.public_url).show)
    health = ProcessHealth(running.workflows, running.services.database, running.settings.data_dir)
    app.router.add_get("/healthz", health.alive)
    app.router.add_get("/readyz", health.ready)
    if running.settings.serves_metrics:
        app.router.add_get("/metrics", running.metrics.expose)
    return app


@asynccontextmanager
async def serve(running: Forge, header_seconds: float = HEADER_SECONDS) -> AsyncGenerator[int]:
    """Serve the HTTP endpoints, and have GitHub repeat missed deliveries; yields the port.

    :param header_seconds: in which the headers of a request must arrive.
    """
    runner = web.AppRunner(application(running), shutdown_timeout=5)
    await runner.setup()
    try:
        async with (
            listen(runner, running.settings, header_seconds) as port,
            _redeliver(running),  # only now can they arrive
        ):
            yield port
    finally:
        await runner.cleanup()


@asynccontextmanager
async def listen(
    runner: web.AppRunner, settings: Installation, header_seconds: float = HEADER_SECONDS
) -> AsyncGenerator[int]:
    """Listen at the address of the settings; yields the port.

    :raises ConfigurationError: if the address cannot be used.
    """
    with closing(await _server(runner, settings, header_seconds)) as server:
        try:
            yield int(server.sockets[0].getsockname()[1])
        finally:
            # asyncio neither answers nor closes connections that it accepted but had not handed over when the server
            # closed (https://github.com/python/cpython/issues/109564), and aiohttp drops connections without a request.
            # So stop accepting first, and give the last ones a moment.
            for listener in server.sockets:
                asyncio.get_running_loop().remove_reader(listener.fileno())
                with suppress(OSError):  # not every system can shut down a listening socket
                    listener.shutdown(socket.SHUT_RDWR)
            await asyncio.sleep(_GRACE_S)


async def _server(runner: web.AppRunner, settings: Installation, header_seconds: float) -> asyncio.Server:
    """Bind the address of the settings.

    :raises ConfigurationError: if it cannot be used.
    """
    assert runner.server is not None  # made by its setup
    accept = connection_factory(runner.server, header_seconds)
    host, port = settings.host, settings.port
    try:
        return await asyncio.get_running_loop().create_server(accept, host, port, backlog=128)
    except (socket.gaierror, UnicodeError) as error:
        why = getattr(error, "strerror", None) or "it is not a host name"
        raise ConfigurationError(
            f"FORGE_HOST {host} cannot be resolved: {why}.", "Use an address of this machine, or 0.0.0.0 for all."
        ) from None
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise ConfigurationError(
                f"FORGE_PORT {port} is in use on {host}.", "Stop the program that uses it, or set another port."
            ) from None
        if error.errno == errno.EADDRNOTAVAIL:
            raise ConfigurationError(
                f"FORGE_HOST {host} is not an address of this machine.", "Use one that is, or 0.0.0.0 for all."
            ) from None
        why = os.strerror(error.errno) if error.errno else str(error)
        raise ConfigurationError(
            f"FORGE_HOST {host} and FORGE_PORT {port} cannot be served: {why}.", "Choose others."
        ) from None


@asynccontextmanager
async def _redeliver(running: Forge) -> AsyncGenerator[None]:
    """Look for missed deliveries in the background, if this process accepts webhooks."""
    sweeping = asyncio.create_task(running.redelivery.keep_sweeping()) if running.door is not None else None
    try:
        yield
    finally:
        if sweeping is not None:
            sweeping.cancel()
            await asyncio.gather(sweeping, return_exceptions=True)
