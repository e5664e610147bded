"""Keeps which processes only take webhooks, so that those that work have GitHub repeat what these missed."""

from datetime import datetime, timedelta

from sqlalchemy import delete, select

from domain.ports import Clock
from memory.db.engine import Database, upsert
from memory.db.tables.process import DoorRow

OPEN = timedelta(seconds=30)
"""How long a door counts as open after it last said so."""
FORGET_AFTER = timedelta(days=1)


async def keep_open(database: Database, door_id: str, host: str, now: datetime) -> None:
    """Say that a door is open. The write also proves that the database works.

    :param door_id: new at each start.
    :param host: the machine's name.
    :raises DatabaseUnavailable: it does not.
    """
    values = {"id": door_id, "host": host, "open_until": now + OPEN}
    async with database.transaction() as session:
        await session.execute(upsert(database.dialect, DoorRow, values, {}))


async def close(database: Database, door_id: str, now: datetime) -> None:
    """Forget a door at its clean stop, and those that died long ago."""
    async with database.transaction() as session:
        await session.execute(delete(DoorRow).where(DoorRow.id == door_id))
        await session.execute(delete(DoorRow).where(DoorRow.open_until <= now - FORGET_AFTER))


async def is_any_open(database: Database, clock: Clock) -> bool:
    """Whether a process that only takes webhooks is there."""
    now = clock.now()
    async with database.transaction() as session:
        return await session.scalar(select(DoorRow.id).where(DoorRow.open_until > now).limit(1)) is not None
