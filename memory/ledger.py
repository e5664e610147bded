"""The ledger of events: append-only, written in the transaction of the change it tells of."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from domain.events import Event, EventType
from domain.ids import new_id
from domain.runs import Phase
from memory.database import TOLD, Database
from memory.tables import EventRow


def tell(
    session: AsyncSession,
    trace: str,
    kind: EventType,
    now: datetime,
    *,
    source: str = "pipeline",
    phase: Phase | None = None,
    payload: dict[str, Any] | None = None,
    duration: float | None = None,
    tokens: int = 0,
    cost: float = 0.0,
) -> None:
    """Store an event with the transaction, and tell subscribers once it has committed.

    :param trace: the run it belongs to.
    :param duration: seconds.
    :param cost: USD.
    """
    event = Event(
        id=new_id(),
        trace=trace,
        time=now,
        source=source,
        type=kind,
        phase=phase,
        payload=payload or {},
        duration=duration,
        tokens=tokens,
        cost=cost,
    )
    session.add(EventRow(**event.model_dump()))
    session.info.setdefault(TOLD, []).append(event)


async def replay(database: Database, trace: str) -> Sequence[Event]:
    """The events of a run, in the order in which they happened."""
    async with database.transaction() as session:
        rows = await session.scalars(select(EventRow).where(EventRow.trace == trace).order_by(EventRow.id))
        return [Event.model_validate({name: getattr(row, name) for name in Event.model_fields}) for row in rows]


async def snapshot(database: Database, trace: str) -> dict[EventType, int]:
    """How often each type of event happened in a run."""
    async with database.transaction() as session:
        rows = await session.execute(
            select(EventRow.type, func.count()).where(EventRow.trace == trace).group_by(EventRow.type)
        )
        return {EventType(kind): count for kind, count in rows}


async def note_refusal(database: Database, trace: str, payload: dict[str, Any], now: datetime) -> None:
    """Record that somebody was refused what they asked for (SPEC W5)."""
    async with database.transaction() as session:
        tell(session, trace, EventType.permission_refused, now, payload=payload)
