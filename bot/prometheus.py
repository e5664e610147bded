"""Prometheus metrics of the event bus, the endpoint and the database, and their page; none names a repository."""

import math
from datetime import datetime, timedelta
from functools import partial

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from bot.clock import SystemClock
from bot.settings import Installation
from domain.deployments.deployment import DeploymentState
from domain.errors import DatabaseUnavailable
from domain.events import Event, EventType
from domain.gates import STANDARD_GATES
from domain.ports import Clock
from domain.review.avoidance import MEMORY_DAYS, AvoidanceKind, DetectorRecord
from domain.review.reading import CHECKS
from domain.runs.work_checkpoint import CheckpointCause
from domain.verdicts import BreakerState
from memory import findings
from memory.db.engine import Bus, Database
from memory.deliveries import notice_targets
from memory.deployments import deployments
from memory.reports import metrics
from safety.guards import Guard

_GUARDS = frozenset({*(guard.value for guard in Guard), "stagnation"})
_OUTCOMES = {
    EventType.gate_approved: "approved",
    EventType.gate_rejected: "rejected",
    EventType.gate_expired: "expired",
    EventType.gate_voided: "void",
    EventType.gate_contested: "contested",
}
_CAUSES = tuple(cause.value for cause in CheckpointCause)
_ANSWERS = frozenset({EventType.gate_approved, EventType.gate_rejected})
_RESPONSE = (5, 15, 30, 60, 120, 300, 900, 1800, 3600, 4 * 3600, 12 * 3600, 24 * 3600)
_KEEPING = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0)
_PAUSE = (0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.5, 0.75, 1.0, 2.0, 5.0)
_CALLS = (0, 1, 2, 3, 5, 8, 10, 15, 20, 30, 50, 80)


FEEDBACK_INTERVAL = timedelta(minutes=5)
"""How old the figures of the week may be; computing them at each scrape would cost too much."""


class Metrics:
    """The metrics of one process.

    :param database: the current state is read from it; None: it is left out.
    """

    def __init__(self, bus: Bus, database: Database | None = None, clock: Clock | None = None) -> None:
        self._database = database
        self._clock = clock or SystemClock()
        self._drawn: datetime | None = None
        self._registry = registry = CollectorRegistry()
        gauge = partial(Gauge, registry=registry)
        histogram = partial(Histogram, registry=registry)
        self._events = Counter("forge_events", "Events stored in the ledger", ["type"], registry=registry)
        self._tools = histogram("forge_tool_seconds", "Time a check took", ["tool"])
        self._deliveries = Counter(
            "forge_deliveries", "Webhook requests by answer", ["status", "outcome"], registry=registry
        )
        self._reports = Counter(
            "forge_feedback_reports", "Reports of monitoring by answer", ["status"], registry=registry
        )
        asked_again = "Missed deliveries GitHub was asked to send again"
        self._redeliveries = Counter("forge_redeliveries", asked_again, ["outcome"], registry=registry)
        self._guards = Counter("forge_guard_trips", "Guards that stopped a phase", ["guard"], registry=registry)
        iterations = "Model calls of a run until it was completed"
        self._iterations = histogram("forge_run_iterations", iterations, buckets=_CALLS)
        answered = "Time until a person answered"
        self._responses = histogram("forge_gate_response_seconds", answered, ["gate"], buckets=_RESPONSE)
        self._decisions = Counter("forge_gate_decisions", "Gates by outcome", ["gate", "outcome"], registry=registry)
        self._spend = Counter("forge_spend_usd", "Settled cost of models", ["phase", "model"], registry=registry)
        self._breakers = gauge("forge_breakers", "Error-rate breakers of repositories by state", ["breaker", "state"])
        self._waiting = gauge("forge_gates_waiting", "Gates that wait for a person", ["gate"])
        self._levels = gauge("forge_ladder_levels", "Repositories by level, once it changed", ["level"])
        self._feedback = gauge("forge_feedback", "How well Forge did in the last seven days", ["metric"])
        detected = "Pull requests with findings of giving up in ninety days, by what people said"
        self._detected = gauge("forge_detector_findings", detected, ["kind", "judged"])
        self._deployed = gauge("forge_deployments_over", "Deployments that are over, by how they ended", ["state"])
        under_way = "Deployments that are not over, waiting ones included"
        self._deploying = gauge("forge_deployments_under_way", under_way)
        self._failing = gauge("forge_notice_targets_failing", "Targets that take no notices")
        self._halted = gauge("forge_halted", "1 while the operator halts Forge")
        self._checkpoints = _CheckpointMetrics(registry)
        bus.subscribe(self._count)

    def count_delivery(self, status: int, outcome: str) -> None:
        """Count an answered webhook request."""
        self._deliveries.labels(str(status), outcome).inc()

    def count_report(self, status: int) -> None:
        """Count an answered report of monitoring."""
        self._reports.labels(str(status)).inc()

    def count_redelivery(self, outcome: str) -> None:
        """Count a missed delivery that GitHub was asked to send again: ``asked``, or ``refused`` by GitHub."""
        self._redeliveries.labels(outcome).inc()

    async def expose(self, _request: web.Request) -> web.Response:
        """The handler of ``/metrics``."""
        if self._database is not None:
            await self._read_state(self._database)
        return web.Response(body=generate_latest(self._registry), headers={"Content-Type": CONTENT_TYPE_LATEST})

    async def _read_state(self, database: Database) -> None:
        """Read the current state; without the database, report none rather than an old one."""
        for gauge in (self._breakers, self._waiting, self._levels, self._deployed):
            gauge.clear()
        for gauge in (self._deploying, self._failing, self._halted):
            gauge.set(math.nan)
        try:
            now = await metrics.load_snapshot(database)
            deployed = await deployments.count_by_state(database)
            told = await notice_targets.list_all(database)
        except DatabaseUnavailable:
            return
        for state in BreakerState:
            self._breakers.labels("error_rate", state.value).set(now.circuits[state.value])
        for name, count in now.waiting.items():
            self._waiting.labels(_gate(name)).inc(count)
        for level, count in now.levels.items():
            self._levels.labels(str(level)).set(count)
        for state in DeploymentState:
            if state.is_over:
                self._deployed.labels(state.value).set(deployed.get(state, 0))
        self._deploying.set(sum(count for state, count in deployed.items() if not state.is_over))
        self._failing.set(sum(bool(each.problem) for each in told))
        self._halted.set(now.is_halted)
        await self._update_feedback(database)

    async def _update_feedback(self, database: Database) -> None:
        """Compute the figures of the last seven days, unless they are recent enough."""
        now = self._clock.now()
        if self._drawn is not None and timedelta() <= now - self._drawn < FEEDBACK_INTERVAL:
            return
        self._drawn = now
        self._feedback.clear()
        self._detected.clear()
        try:
            found = await metrics.load_weekly(database, now, 1)
            records = await findings.load_detector_records(database, None, now - timedelta(days=MEMORY_DAYS))
        except DatabaseUnavailable:
            return
        for kind in AvoidanceKind:
            record = records.get(kind.rule, DetectorRecord(0, 0))
            for judged, count in (("any", record.found), ("wrong", record.dismissed), ("right", record.confirmed)):
                self._detected.labels(kind.value, judged).set(count)
        for each in found:
            if each.now is not None:
                self._feedback.labels(each.metric.name).set(each.now)

    def _count(self, event: Event) -> None:
        self._events.labels(event.type).inc()
        if event.type is EventType.tool_executed and event.duration is not None:
            self._tools.labels(_tool(event)).observe(event.duration)
        elif event.type in _OUTCOMES:
            self._count_decision(event)
        elif event.type is EventType.guard_tripped:
            name = str(event.payload.get("name", ""))
            self._guards.labels(name if name in _GUARDS else "other").inc()
        elif event.type is EventType.budget_settled:
            phase = "" if event.phase is None else event.phase.value
            self._spend.labels(phase, _model(str(event.payload.get("model", "")))).inc(event.cost)
        elif event.type in {EventType.checkpoint_created, EventType.checkpoint_failed}:
            self._checkpoints.count(event)
        elif event.type is EventType.run_completed and "calls" in event.payload:
            self._iterations.observe(int(event.payload["calls"]))

    def _count_decision(self, event: Event) -> None:
        gate = _gate(str(event.payload.get("name", "")))
        self._decisions.labels(gate, _OUTCOMES[event.type]).inc()
        if event.type in _ANSWERS and event.duration is not None:
            self._responses.labels(gate).observe(event.duration)


class _CheckpointMetrics:
    """How often and how fast the work of agents is kept.

    The budgets, 500 ms (at most 2 s) for a checkpoint and 100 ms (at most 500 ms) for the pause in it, are bounds.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        self._made = Counter("forge_checkpoints", "Checkpoints of agents' work", ["cause"], registry=registry)
        self._failed = Counter("forge_checkpoint_failures", "Checkpoints that could not be made", registry=registry)
        self._seconds = Histogram(
            "forge_checkpoint_seconds", "Time until the work was kept", buckets=_KEEPING, registry=registry
        )
        self._pauses = Histogram(
            "forge_checkpoint_pause_seconds", "Time an agent was paused for it", buckets=_PAUSE, registry=registry
        )
        for cause in _CAUSES:
            self._made.labels(cause)  # from the start, so that a rate can be told

    def count(self, event: Event) -> None:
        """Count one that was made or failed. Those of whole phases have no cause, and do not count."""
        if event.type is EventType.checkpoint_failed:
            self._failed.inc()
            return
        cause = str(event.payload.get("cause", ""))
        if cause not in _CAUSES:
            return
        self._made.labels(cause).inc()
        if event.duration is not None:
            self._seconds.observe(event.duration)
        paused = float(event.payload.get("paused_seconds", 0))
        if paused > 0:  # an agent that has ended is not paused
            self._pauses.observe(paused)


def _gate(name: str) -> str:
    """A label from a bounded set, because repositories name their own gates."""
    return name if name in STANDARD_GATES else "own"


def _model(name: str) -> str:
    """A label from a bounded set: the operator names the models, with a colon."""
    return name if ":" in name else "unknown"


def _tool(event: Event) -> str:
    """A label from a bounded set: repositories name linters, and models what agents call; the operator names models."""
    if "files" not in event.payload:  # only a check reads files
        return "agent's tool"
    is_known = event.source in CHECKS or ":" in event.source
    return event.source if is_known else "configured linter"


_STRANGE_HOST = "This server listens on loopback only, and does not answer under the name in this address.\n"


def add_metrics(app: web.Application, metrics: Metrics, settings: Installation) -> None:
    """Add the page, if it is served.

    On loopback only programs of this machine can ask, and a browser there must not ask for a page that pointed its own
    name here (DNS rebinding). Elsewhere whoever reaches the port may read it under any name.
    """

    async def expose(request: web.Request) -> web.Response:
        if settings.is_on_loopback and not settings.is_own_host(request.headers.get("Host", "")):
            return web.Response(status=421, text=_STRANGE_HOST)
        return await metrics.expose(request)

    if settings.serves_metrics:
        app.router.add_get("/metrics", expose)
