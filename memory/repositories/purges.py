"""Keeps which repositories were purged, so that the processes of every machine remove their copies."""

from collections.abc import Collection, Sequence
from datetime import datetime

from sqlalchemy import delete, select
from sqlalchemy.ext.asyncio import AsyncSession

from memory.db.engine import Database, upsert
from memory.db.tables.repositories import PurgeRow


async def note(database: Database, repository_ids: Collection[int], now: datetime) -> None:
    """Record that repositories were lost, until a run begins there again."""
    async with database.transaction() as session:
        for each in sorted(repository_ids):
            await session.execute(upsert(database.dialect, PurgeRow, {"repository_id": each, "at": now}, {}))


async def list_purged(database: Database) -> Sequence[int]:
    """The repositories of which no process may keep a copy."""
    return await database.scalars(select(PurgeRow.repository_id).order_by(PurgeRow.repository_id))


async def clear(session: AsyncSession, repository_id: int) -> None:
    """Delete the record: a run begins there, so Forge has access again."""
    await session.execute(delete(PurgeRow).where(PurgeRow.repository_id == repository_id))
