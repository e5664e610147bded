"""Keeps the memories of a repository within their limit, in the transaction that adds new ones."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import func, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from domain.events import EventType
from domain.memories.memory import Archived, Memory
from memory.db.tables.learned import MemoryRow
from memory.learned import memories
from memory.ledger import ledger
from safety import memory_eviction


async def lock_repository(session: AsyncSession, dialect: str, repository_id: int) -> None:
    """Lock a repository until the end of the transaction, so that concurrent additions count right."""
    if dialect == "postgresql":
        name = func.hashtextextended(f"memories of {repository_id}", 0)
        await session.execute(select(func.pg_advisory_xact_lock(name)))
    else:  # SQLite locks at the first write, even if it changes nothing
        await session.execute(update(MemoryRow).where(MemoryRow.id == "").values(archived_why=""))


async def keep(
    session: AsyncSession, repository_id: int, new: Sequence[Memory], most: int, trace: str, now: datetime
) -> Sequence[Memory]:
    """Store new memories as far as there is room, and archive those that give way to them.

    The caller holds the lock of :func:`lock_repository`.

    :param most: live memories that the repository may have.
    :param trace: trace of the events about archived memories.
    :returns: the memories that were stored.
    """
    is_live = MemoryRow.repository_id == repository_id, MemoryRow.archived_at.is_(None)
    count = await session.scalar(select(func.count()).where(*is_live)) or 0
    kept = new
    if count + len(new) > most:
        live = [memories.from_row(row) for row in await session.scalars(select(MemoryRow).where(*is_live))]
        found = memory_eviction.plan_eviction(live, new, most, now)
        kept = found.kept
        await _archive(session, repository_id, [each.id for each in found.gone], trace, now)
    session.add_all(map(memories.to_row, kept))
    await session.flush()
    return kept


async def _archive(session: AsyncSession, repository_id: int, ids: Sequence[str], trace: str, now: datetime) -> None:
    for memory_id in await memories.archive_within(session, ids, Archived.crowded, now):
        facts = {"memory": memory_id, "repository": repository_id, "why": Archived.crowded.value}
        ledger.record(session, trace, EventType.memory_archived, now, source="capacity", payload=facts)
