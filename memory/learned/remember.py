"""Adds the memories that people ask for or production teaches, and corrects or archives those people name."""

from datetime import datetime

from sqlalchemy import select

from domain import memories as deciding
from domain.commands import Sender
from domain.events import EventType
from domain.memories import Archived, Memory, Origin, Use
from domain.runs.run import RepositoryRef
from memory.db.engine import Database
from memory.db.tables.learned import MemoryRow
from memory.learned import catalogue, memories
from memory.ledger import ledger
from safety.memory_consolidation import MOST_LIVE


async def learn(
    database: Database,
    repository: RepositoryRef,
    number: int | None,
    memory: Memory,
    by: Sender,
    cause: str,
    most: int = MOST_LIVE,
    *,
    is_source_unique: bool = True,
) -> tuple[Memory, bool] | None:
    """Store what a person said, or confirm the memory that says the same already.

    :param number: of the issue or pull request in which it was said; None: in none.
    :param cause: what happened; a repeated call for the same cause returns the same and changes nothing.
    :param most: live memories that the repository may have.
    :param is_source_unique: a memory with the same source and text comes from the same act, which is only repeated.
    :returns: the memory, and whether it is new; None if there is no room, because all memories there are pinned.
    """
    said = select(MemoryRow).where(
        MemoryRow.repository_id == memory.repository_id,
        MemoryRow.archived_at.is_(None),
        MemoryRow.pinned,
        MemoryRow.origin == Origin.person.value,
    )
    now = memory.created_at
    async with database.transaction() as session:
        await memories.lock_repository(session, database.dialect, repository.id)
        for row in await session.scalars(said.order_by(MemoryRow.id)):
            if deciding.is_same_text(row.content, memory.content):
                if is_source_unique and row.source == memory.source:
                    return memories.from_row(row), True
                if row.taught_by != by.id:
                    row.taught_by = 0
                await memories.record_use_within(session, database.dialect, [row.id], Use.confirmed, cause, now)
                return memories.from_row(row), False
        trace = await ledger.find_trace(session, repository, number)
        if not await memories.make_room(session, repository.id, [memory], most, trace, now):
            return None
        await ledger.record_person_action(
            session, repository, number, EventType.memory_stored, by, now, memory=memory.id
        )
        return memory, True


async def learn_from_production(database: Database, memory: Memory, trace: str, most: int = MOST_LIVE) -> Memory | None:
    """Store what production taught, once for each source; None if there is no room.

    :param trace: the run with which it came.
    :param most: live memories that the repository may have.
    """
    taught = select(MemoryRow).where(
        MemoryRow.repository_id == memory.repository_id,
        MemoryRow.origin == Origin.production.value,
        MemoryRow.source == memory.source,
    )
    now = memory.created_at
    async with database.transaction() as session:
        await memories.lock_repository(session, database.dialect, memory.repository_id)
        known = await session.scalar(taught.limit(1))
        if known is not None:
            return memories.from_row(known)
        if not await memories.make_room(session, memory.repository_id, [memory], most, trace, now):
            return None
        facts = {"memory": memory.id, "repository": memory.repository_id, "confidence": memory.confidence}
        ledger.record(session, trace, EventType.memory_stored, now, source="production", payload=facts)
        return memory


async def forget(
    database: Database, repository: RepositoryRef, number: int | None, memory: Memory, by: Sender, now: datetime
) -> bool:
    """Archive a memory because a person wants that; returns whether it was live."""
    async with database.transaction() as session:
        if not await memories.archive_within(session, [memory.id], Archived.forgotten, now):
            return False
        facts = {"memory": memory.id, "why": Archived.forgotten.value}
        await ledger.record_person_action(session, repository, number, EventType.memory_archived, by, now, **facts)
        return True


async def correct(
    database: Database, repository: RepositoryRef, memory: Memory, changed: Memory, by: Sender, now: datetime
) -> bool:
    """Correct a memory because a person wants that; False if it was archived meanwhile."""
    async with database.transaction() as session:
        facts = await catalogue.change_within(session, memory, changed)
        if facts is None:
            return False
        told = {"memory": memory.id, **facts}
        await ledger.record_person_action(session, repository, None, EventType.memory_edited, by, now, **told)
        return True
