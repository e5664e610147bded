"""Serves the set-up pages where Forge will serve, until they are done."""

import asyncio
import secrets
import sys
from collections.abc import Callable

import structlog
from aiohttp import web

from bot.clock import SystemClock
from bot.health import ALIVE
from bot.listener import HeldPort, listen
from bot.settings import Installation
from bot.setup.guard import SetupGuard
from bot.setup.site import PATH, SetupSite
from domain.ports import Clock

log = structlog.get_logger(__name__)


async def set_up(
    settings: Installation,
    stopped: asyncio.Event,
    announce: Callable[[str], None] | None = None,
    clock: Clock | None = None,
    held: HeldPort | None = None,
) -> bool:
    """Serve the set-up pages until they are done, or until the process is told to stop; returns whether they are done.

    :param announce: is told each address that may be opened; by default it is printed, or logged where logs are JSON.
    :param held: keeps the port for Forge, which serves there next; None: nothing does.
    :raises ConfigurationError: the address of the settings cannot be used, or the data folder not be written.
    """
    settings.make_data_dir()
    settings.store.load()  # raises before anybody begins
    tell = announce or (_log if settings.log_format == "json" else _print)
    port = settings.port

    def announce_token(token: str | None) -> None:
        tell(_find_address(settings, port) + (f"?once={token}" if token else ""))

    guard = SetupGuard(clock or SystemClock(), not settings.is_on_loopback, settings.public_url, announce_token)
    site = SetupSite(guard, settings, f"Forge {secrets.token_hex(2)}", goes_on=held is not None)
    app = web.Application()
    site.add_routes(app.router)
    app.router.add_get("/healthz", _alive)
    app.router.add_get("/readyz", _refuse)
    app.router.add_post("/webhook", _answer_hook)
    app.router.add_post("/", _answer_hook)
    async with listen(app, settings, held=held) as bound:
        port = bound
        guard.open()
        waiting = [asyncio.create_task(event.wait()) for event in (site.done, stopped)]
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        for task in waiting:
            task.cancel()
        if held is not None:
            held.is_kept = site.done.is_set()
    return site.done.is_set()


def _find_address(settings: Installation, port: int) -> str:
    if settings.public_url:
        return f"{settings.public_url}{PATH}"
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"http://{host if settings.host not in {'0.0.0.0', '::'} else 'localhost'}:{port}{PATH}"


def _log(address: str) -> None:
    log.warning("setup.waiting", open=address, why="There is no GitHub App yet; the address counts for 30 minutes.")


def _print(address: str) -> None:
    sys.stderr.write(
        f"\nForge has no GitHub App yet. To set it up, open this address within 30 minutes:\n\n    {address}\n\n"
        "`forge setup --manual` says how to do it by hand. Ctrl-C ends.\n\n"
    )
    sys.stderr.flush()


async def _alive(_request: web.Request) -> web.Response:
    return web.Response(text=ALIVE)


async def _refuse(_request: web.Request) -> web.Response:
    return web.Response(status=503, text="not set up\n")


async def _answer_hook(request: web.Request) -> web.Response:
    """Greet GitHub, which pings a new App; of anything else it keeps a record, from which Forge fetches it later."""
    if request.headers.get("X-GitHub-Event") == "ping":
        return web.Response(text="not set up yet\n")
    return web.Response(status=503, text="not set up yet\n")
