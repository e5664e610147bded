"""Applies the nightly consolidation of a repository's memories, which may be interrupted and repeated."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import select, update
from sqlalchemy.ext.asyncio import AsyncSession

from domain.events import EventType
from domain.memories import Archived, Use
from memory import ledger
from memory.db.engine import Database, insert_new
from memory.db.tables.repositories import FeedbackRow, MemoryRow, MemoryUseRow, is_dismissal
from memory.db.tables.runs import EventRow
from memory.learned import memories
from safety.memory_consolidation import ArchivedMemory, ConsolidationPlan, LiveMemory

MOST_TAGS = 16


async def list_repositories(database: Database) -> Sequence[int]:
    """The ids of the repositories with live memories."""
    query = select(MemoryRow.repository_id).where(MemoryRow.archived_at.is_(None)).distinct()
    return sorted(await database.scalars(query))


async def load_memories(database: Database, repository_id: int) -> Sequence[LiveMemory]:
    """The live memories of a repository, with the causes that taught each of them again."""
    of_repository = select(MemoryRow.id).where(
        MemoryRow.repository_id == repository_id, MemoryRow.archived_at.is_(None)
    )
    query = select(MemoryUseRow.memory_id, MemoryUseRow.cause).where(
        MemoryUseRow.use == Use.recurred.value, MemoryUseRow.memory_id.in_(of_repository)
    )
    recurred: defaultdict[str, set[str]] = defaultdict(set)
    for memory_id, cause in await database.rows(query):
        recurred[memory_id].add(cause)
    live = await memories.list_live(database, repository_id)
    return [LiveMemory(memory, frozenset(recurred[memory.id])) for memory in live]


async def list_protected(database: Database, repository_id: int) -> Sequence[str]:
    """The memories of dismissals that still apply: undoing a dismissal archives its own memory and no other."""
    query = select(FeedbackRow.memory_id).where(FeedbackRow.repository_id == repository_id, is_dismissal())
    return await database.scalars(query)


async def apply_changes(database: Database, changes: Sequence[ArchivedMemory], now: datetime) -> None:
    """Change memories as planned, in one transaction; memories archived or used since the plan stay as they are."""
    async with database.transaction() as session:
        for change in changes:
            await _apply_change(session, database.dialect, change, now)


async def _apply_change(session: AsyncSession, dialect: str, change: ArchivedMemory, now: datetime) -> None:
    archived = (
        update(MemoryRow)
        .where(MemoryRow.id == change.id, MemoryRow.archived_at.is_(None), MemoryRow.used_at == change.used_at)
        .values(archived_at=now, archived_why=change.why.value)
        .returning(MemoryRow.id)
    )
    if (await session.execute(archived)).first() is None:
        return
    if change.made is not None:
        session.add(memories.to_row(change.made))
        await session.flush()
    if change.into is not None and change.why is Archived.merged:
        await _merge(session, dialect, change, change.into, now)


async def _merge(session: AsyncSession, dialect: str, change: ArchivedMemory, into: str, now: datetime) -> None:
    """Move the uses of one memory to the other, each once; the merged memory itself counts as one more."""
    uses = [
        {"memory_id": into, "use": row.use, "cause": row.cause, "at": row.at}
        for row in await session.scalars(select(MemoryUseRow).where(MemoryUseRow.memory_id == change.id))
    ]
    if change.made is None:
        uses.append({"memory_id": into, "use": Use.recurred.value, "cause": change.id, "at": now})
    for values in uses:
        await session.execute(insert_new(dialect, MemoryUseRow, values))
    one, other = await session.get(MemoryRow, into), await session.get(MemoryRow, change.id)
    if one is not None and other is not None:
        one.tags = list(dict.fromkeys([*one.tags, *other.tags]))[:MOST_TAGS]
        if other.taught_by not in {0, one.taught_by}:  # what nobody vouches for makes no second person
            one.taught_by = 0


async def report(database: Database, repository_id: int, night: str, plan: ConsolidationPlan, now: datetime) -> None:
    """Record the result of a night, once.

    :param night: identifies the night.
    """
    told = {"repository": repository_id, "live": plan.live, **plan.counts}
    same = select(EventRow.id).where(EventRow.trace == night, EventRow.type == EventType.consolidated.value)
    async with database.transaction() as session:
        if await session.scalar(same) is None:
            ledger.record(session, night, EventType.consolidated, now, source="consolidation", payload=told)
