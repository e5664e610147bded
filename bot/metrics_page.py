"""Serves ``/metrics`` where the settings say so, to nobody who came under the name of another."""

from aiohttp import web

from bot.dashboard.addresses import is_own_host
from bot.prometheus import Metrics
from bot.settings import Installation

_STRANGE_HOST = "This server listens on loopback only, and does not answer under the name in this address.\n"


def add_metrics(app: web.Application, metrics: Metrics, settings: Installation) -> None:
    """Add the page, if it is served.

    On loopback only programs of this machine can ask, and a browser there must not ask for a page that pointed its own
    name here (DNS rebinding). Elsewhere whoever reaches the port may read it under any name.
    """

    async def expose(request: web.Request) -> web.Response:
        if settings.is_on_loopback and not is_own_host(settings, request.headers.get("Host", "")):
            return web.Response(status=421, text=_STRANGE_HOST)
        return await metrics.expose(request)

    if settings.serves_metrics:
        app.router.add_get("/metrics", expose)
