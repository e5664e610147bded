"""The tables of events, and of what reports keep of them, because counting it again takes long."""

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, Index, text
from sqlalchemy.orm import Mapped, mapped_column

from memory.db.engine import TableRow

IS_MOVE = text("(type LIKE 'run.%' OR type LIKE 'phase.%')")
"""Events that say whether a run works or waits, or in which phase it is. Read before each model call, so they have an
index of their own."""

IS_AUDITED = text(
    "(type LIKE 'gate.%' OR type LIKE 'breaker.%' OR type LIKE 'guard.%' OR type LIKE 'ladder.%' "
    "OR type LIKE 'safety.%' OR type LIKE 'feedback.%' OR type LIKE 'checkpoint.%' "
    "OR type IN ('budget.granted', 'budget.refused', 'permission.refused', 'memory.stored', 'memory.edited', "
    "'memory.archived', 'memory.imported'))"
)
"""Events among which are all that the audit lists. They are few of all, and are listed in the order of their times."""

IS_BESIDE_RUNS = text("length(trace) <> 26")
"""Events that belong to a delivery or to the operator: the id of a run has 26 characters."""


class EventRow(TableRow):
    """The ledger of events: append-only."""

    __tablename__ = "events"
    __table_args__ = (
        Index("events_by_trace", "trace", "id"),
        Index("events_by_type", "type", "time"),
        Index("events_of_audit", "time", "id", "trace", "type", sqlite_where=IS_AUDITED, postgresql_where=IS_AUDITED),
        Index("events_beside_runs", "time", sqlite_where=IS_BESIDE_RUNS, postgresql_where=IS_BESIDE_RUNS),
        Index("events_of_moves", "trace", "id", sqlite_where=IS_MOVE, postgresql_where=IS_MOVE),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    trace: Mapped[str]
    time: Mapped[datetime]
    source: Mapped[str]
    type: Mapped[str]
    phase: Mapped[str | None]
    payload: Mapped[dict[str, Any]] = mapped_column(JSON)
    tokens: Mapped[int]
    cost: Mapped[float]
    duration: Mapped[float | None]


class MetricDayRow(TableRow):
    """The sums behind the metrics of a repository on a UTC day; see :mod:`memory.reports.metric_days`."""

    __tablename__ = "metric_days"

    repository_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)  # 0: all together
    day: Mapped[str] = mapped_column(primary_key=True)  # in UTC: 2026-01-31
    stamp: Mapped[str]  # of the runs that began on it
    sums: Mapped[dict[str, Any]] = mapped_column(JSON)  # metric → sum of the values, of how many
