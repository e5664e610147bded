"""Stores what the door accepted, several deliveries in one commit, and what became of each."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import func, select, update

from memory.database import Connection, Database, insert_new
from memory.tables import DeliveryRow


@dataclass(frozen=True)
class Delivery:
    """One delivery as the door hands it over; ``command`` is None for an ignored one, with its ``reason``."""

    guid: str
    event: str
    action: str
    received_at: datetime
    command: dict[str, Any] | None
    reason: str


_LOOKED_UP = 500  # in one statement
_INSERTS = {
    dialect: insert_new(dialect, DeliveryRow).returning(DeliveryRow.guid) for dialect in ("sqlite", "postgresql")
}


def store(connection: Connection, deliveries: Sequence[Delivery]) -> list[bool]:
    """Insert the deliveries; for each, whether it was new. Of two with the same GUID the first is."""
    # In one order everywhere, so that two doors never wait for each other.
    rows = sorted(map(_values, deliveries), key=lambda row: row["guid"])
    inserted = set(connection.execute(_INSERTS[connection.dialect.name], rows).scalars())
    return [delivery.guid in inserted and not inserted.discard(delivery.guid) for delivery in deliveries]


def _values(delivery: Delivery) -> dict[str, Any]:
    return {
        "guid": delivery.guid,
        "event": delivery.event,
        "action": delivery.action,
        "received_at": delivery.received_at,
        "outcome": "ignored" if delivery.command is None else "accepted",
        "reason": delivery.reason,
        "command": delivery.command,
        "finished_at": delivery.received_at if delivery.command is None else None,
    }


async def finish(database: Database, guid: str, reason: str, now: datetime) -> None:
    """Record what became of an accepted delivery."""
    async with database.transaction() as session:
        await session.execute(
            update(DeliveryRow)
            .where(DeliveryRow.guid == guid, DeliveryRow.finished_at.is_(None))
            .values(reason=reason, finished_at=now)
        )


async def find(database: Database, guid: str) -> DeliveryRow | None:
    """The delivery with this GUID."""
    async with database.transaction() as session:
        return await session.get(DeliveryRow, guid)


async def known(database: Database, guids: Sequence[str]) -> set[str]:
    """Which of these deliveries are stored."""
    found: set[str] = set()
    for start in range(0, len(guids), _LOOKED_UP):
        async with database.transaction() as session:
            part = guids[start : start + _LOOKED_UP]
            found.update(await session.scalars(select(DeliveryRow.guid).where(DeliveryRow.guid.in_(part))))
    return found


async def counts(database: Database) -> dict[tuple[str, str, str], int]:
    """How many deliveries there are by (event, outcome, reason)."""
    async with database.transaction() as session:
        rows = await session.execute(
            select(DeliveryRow.event, DeliveryRow.outcome, DeliveryRow.reason, func.count()).group_by(
                DeliveryRow.event, DeliveryRow.outcome, DeliveryRow.reason
            )
        )
        return {(event, outcome, reason): number for event, outcome, reason, number in rows}
