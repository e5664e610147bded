"""The table of events."""

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, Index, text
from sqlalchemy.orm import Mapped, mapped_column

from memory.db.engine import TableRow

IS_MOVE = text("(type LIKE 'run.%' OR type LIKE 'phase.%')")
"""Events that say whether a run works or waits, or in which phase it is. Read before each model call, so they have an
index of their own."""


class EventRow(TableRow):
    """The ledger of events: append-only."""

    __tablename__ = "events"
    __table_args__ = (
        Index("events_by_trace", "trace", "id"),
        Index("events_by_type", "type", "time"),
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
