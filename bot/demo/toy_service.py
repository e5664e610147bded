"""The service that the demo deploys: it answers over HTTP, and the traffic that it tells of is made up."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web

_USUAL_ERRORS = 0.002


@dataclass(eq=False)
class ToyService:
    """What runs in staging.

    :ivar shares: percent of the traffic by version.
    :ivar failing: the share of a version's requests that fail, from 0 to 1, if it is more than usual.
    :ivar url: where it answers.
    """

    shares: dict[str, float] = field(default_factory=dict[str, float])
    failing: dict[str, float] = field(default_factory=dict[str, float])
    url: str = ""

    def deploy(self, version: str, percentage: int, failing: float) -> None:
        """Give a version its share of the traffic; the others keep their parts of what is left."""
        others = {each: share for each, share in self.shares.items() if each != version and share}
        left = (100 - percentage) / (sum(others.values()) or 1)
        self.shares = {version: percentage, **{each: share * left for each, share in others.items()}}
        self.failing[version] = failing

    @property
    def error_rate(self) -> float:
        """The share of all requests that fail."""
        total = sum(self.shares.values())
        failed = sum(share * max(self.failing[each], _USUAL_ERRORS) for each, share in self.shares.items())
        return failed / total if total else _USUAL_ERRORS

    async def answer_health(self, _: web.Request) -> web.Response:
        return web.Response(text="ready")

    async def answer_figures(self, _: web.Request) -> web.Response:
        return web.json_response({"errors": round(self.error_rate, 4), "milliseconds": 38})


@asynccontextmanager
async def run_service() -> AsyncGenerator[ToyService]:
    """The service, on loopback."""
    service, app = ToyService(), web.Application()
    app.router.add_get("/health", service.answer_health)
    app.router.add_get("/figures", service.answer_figures)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        service.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        yield service
    finally:
        await runner.cleanup()
