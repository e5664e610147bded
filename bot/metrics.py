"""Prometheus metrics, fed by the event bus and the door; no repository is ever named in a label."""

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Histogram, generate_latest

from domain.events import Event
from memory.bus import Bus

_OWN = frozenset({"ruff", "bandit", "detect-secrets", "zizmor", "patterns", "dependencies", "purse"})


class Metrics:
    """The metrics of one process."""

    def __init__(self, bus: Bus) -> None:
        self._registry = CollectorRegistry()
        self._events = Counter("forge_events", "Events stored in the ledger", ["type"], registry=self._registry)
        self._tools = Histogram("forge_tool_seconds", "Time a check took", ["tool"], registry=self._registry)
        self._deliveries = Counter(
            "forge_deliveries", "Webhook requests by answer", ["status", "outcome"], registry=self._registry
        )
        self._redeliveries = Counter(
            "forge_redeliveries",
            "Missed deliveries GitHub was asked to send again",
            ["outcome"],
            registry=self._registry,
        )
        bus.subscribe("*", self._count)

    def delivered(self, status: int, outcome: str) -> None:
        """Count an answered webhook request."""
        self._deliveries.labels(str(status), outcome).inc()

    def asked_again(self, outcome: str) -> None:
        """Count a missed delivery that GitHub was asked to send again: ``asked``, or ``refused`` by GitHub."""
        self._redeliveries.labels(outcome).inc()

    async def exposed(self, _request: web.Request) -> web.Response:
        """The handler of ``/metrics``."""
        return web.Response(body=generate_latest(self._registry), headers={"Content-Type": CONTENT_TYPE_LATEST})

    def _count(self, event: Event) -> None:
        self._events.labels(event.type).inc()
        if event.duration is not None:
            self._tools.labels(_tool(event.source)).observe(event.duration)


def _tool(source: str) -> str:
    """A label out of a bounded set: linters are named by repositories, models by the operator and with a colon."""
    return source if source in _OWN or ":" in source else "configured linter"
