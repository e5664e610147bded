"""A service with real HTTP that several versions share the traffic of, and that can be made slow, failing or dead."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web


@dataclass(eq=False)
class ToyService:
    """What runs in an environment.

    :ivar share: percent of the traffic by version; what is left is the oldest one's.
    :ivar error_rates: by version; 0.001 for all others.
    :ivar latencies: in milliseconds by version; 100 for all others.
    :ivar is_dead: it answers its health with 503.
    :ivar is_mute: nobody can read its figures.
    :ivar remembers: its error rate is the mean of so many looks before, too, as a query with a range tells it.
    :ivar lags: its error rate is that of so many looks before.
    :ivar looks: how often its health was asked.
    """

    share: dict[str, int] = field(default_factory=dict[str, int])
    error_rates: dict[str, float] = field(default_factory=dict[str, float])
    latencies: dict[str, float] = field(default_factory=dict[str, float])
    is_dead: bool = False
    is_mute: bool = False
    remembers: int = 0
    lags: int = 0
    looks: int = 0
    history: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])
    url: str = ""
    seen: list[float] = field(default_factory=list[float])

    def deploy(self, version: str, percentage: int) -> None:
        """Give a version a share of the traffic."""
        self.history.append((version, percentage))
        others = {each: share for each, share in self.share.items() if each != version}
        left, total = 100 - percentage, sum(others.values())
        self.share = {each: round(share * left / total) for each, share in others.items()} if total else {}
        self.share[version] = percentage

    @property
    def figures(self) -> Mapping[str, float]:
        """The figures of all traffic."""
        total = sum(self.share.values()) or 1
        shares = {version: share / total for version, share in self.share.items()}
        return {
            "errors": sum(self.error_rates.get(version, 0.001) * share for version, share in shares.items()),
            "latency": sum(self.latencies.get(version, 100.0) * share for version, share in shares.items()) or 100.0,
            "requests": 50.0,
        }

    async def _answer_health(self, _: web.Request) -> web.Response:
        self.looks += 1
        return web.Response(status=503) if self.is_dead else web.Response(text="well")

    async def _answer_figures(self, _: web.Request) -> web.Response:
        if self.is_mute:
            return web.Response(status=500)
        self.seen.append(self.figures["errors"])
        known = self.seen[: -self.lags or None] or self.seen[:1]
        recent = known[-1 - self.remembers :]
        return web.json_response({"now": {**self.figures, "errors": sum(recent) / len(recent)}})

    def build_app(self) -> web.Application:
        app = web.Application()
        app.router.add_get("/health", self._answer_health)
        app.router.add_get("/figures", self._answer_figures)
        return app


@asynccontextmanager
async def run_service() -> AsyncGenerator[ToyService]:
    """A service on loopback."""
    service = ToyService()
    runner = web.AppRunner(service.build_app())
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    service.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield service
    finally:
        await runner.cleanup()
