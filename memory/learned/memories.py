"""Keeps memories and their uses, and only so many of a repository; memories are archived, never deleted."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Row, Select, and_, delete, func, or_, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from domain import memories
from domain.events import EventType
from domain.memories import Archived, Memory, Scope, Use
from domain.runs.run import RepositoryRef
from memory import ledger
from memory.db.engine import Database, insert_new
from memory.db.tables.repositories import MemoryRow, MemoryUseRow
from safety import memory_consolidation


def to_row(memory: Memory) -> MemoryRow:
    """The row of a memory, for a transaction that does more."""
    values: dict[str, Any] = memory.model_dump(mode="json", exclude={"created_at", "used_at", "archived_at"})
    moments = {"created_at": memory.created_at, "used_at": memory.used_at, "archived_at": memory.archived_at}
    return MemoryRow(**values, **moments, last_accessed=memory.created_at, access_count=0)


def from_row(row: MemoryRow | Row[Any]) -> Memory:
    """The memory of a row; reading a plain row of columns takes half the time of an object of a session."""
    return Memory.model_validate(row, from_attributes=True)


def is_visible_to(repository: RepositoryRef, *, organisation: bool) -> ColumnElement[bool]:
    """Which memories a repository may see: its own, and those of its organisation if it takes part in them."""
    own = MemoryRow.repository_id == repository.id
    return or_(own, is_shared_with(repository)) if organisation else own


def is_shared_with(repository: RepositoryRef) -> ColumnElement[bool]:
    """Which memories other repositories of its organisation share with it."""
    return and_(
        MemoryRow.installation_id == repository.installation_id,
        MemoryRow.scope == Scope.organisation.value,
        MemoryRow.repository_id != repository.id,
    )


async def find(database: Database, memory_id: str) -> Memory | None:
    row = await database.get(MemoryRow, memory_id)
    return None if row is None else from_row(row)


async def find_by_short_id(database: Database, repository: RepositoryRef, shown: str) -> Sequence[Memory]:
    """The memories of a repository whose id ends so: ``M-`` and six characters, or a whole id."""
    return await _load(database, _select_by_short_id(shown).where(MemoryRow.repository_id == repository.id))


async def find_shared(database: Database, repository: RepositoryRef, shown: str) -> Sequence[Memory]:
    """The live memories with this id that other repositories of the organisation share."""
    return await _load(
        database, _select_by_short_id(shown).where(is_shared_with(repository), MemoryRow.archived_at.is_(None))
    )


def _select_by_short_id(shown: str) -> Select[MemoryRow]:
    return select(MemoryRow).where(MemoryRow.id.endswith(shown.removeprefix("M-"), autoescape=True)).limit(5)


async def list_live(database: Database, repository_id: int) -> Sequence[Memory]:
    """The live memories of a repository, oldest first."""
    return await _load(
        database, _select_in(repository_id).where(MemoryRow.archived_at.is_(None)).order_by(MemoryRow.id)
    )


async def list_known(database: Database, repository_id: int) -> Sequence[Memory]:
    """The memories of a repository that live or that a model proposed, oldest first."""
    is_known = or_(MemoryRow.archived_at.is_(None), MemoryRow.archived_why == Archived.proposed.value)
    return await _load(database, _select_in(repository_id).where(is_known).order_by(MemoryRow.id))


async def list_proposed(database: Database, repository_id: int, most: int) -> Sequence[Memory]:
    """What a model proposed to remember and nobody answered yet, newest first."""
    query = _select_in(repository_id).where(MemoryRow.archived_why == Archived.proposed.value)
    return await _load(database, query.order_by(MemoryRow.id.desc()).limit(most))


async def answer_proposal(database: Database, memory_id: str, why: Archived) -> bool:
    """Let a proposal wait no more; whether it did.

    :param why: what became of it.
    """
    waiting = MemoryRow.id == memory_id, MemoryRow.archived_why == Archived.proposed.value
    answered = update(MemoryRow).where(*waiting).values(archived_why=why.value).returning(MemoryRow.id)
    return bool(await database.rows(answered))


def _select_in(repository_id: int) -> Select[MemoryRow]:
    return select(MemoryRow).where(MemoryRow.repository_id == repository_id)


async def record_use(
    database: Database, ids: Collection[str], what: Use, cause: str, now: datetime
) -> Sequence[Memory]:
    """Record uses of memories, once per cause; returns the changed memories.

    :param cause: what happened, e.g. the id of a run or of a delivery.
    """
    async with database.transaction() as session:
        return await record_use_within(session, database.dialect, ids, what, cause, now)


async def record_use_within(
    session: AsyncSession, dialect: str, ids: Collection[str], what: Use, cause: str, now: datetime
) -> Sequence[Memory]:
    """The same as :func:`record_use`, within a transaction."""
    changed: list[Memory] = []
    for memory_id in sorted(set(ids)):
        values = {"memory_id": memory_id, "use": what.value, "cause": cause, "at": now}
        taken = insert_new(dialect, MemoryUseRow, values).returning(MemoryUseRow.memory_id)
        if (await session.execute(taken)).first() is None:
            continue
        row = await session.get(MemoryRow, memory_id, with_for_update=True)
        if row is None:
            continue
        after = memories.apply_use(from_row(row), what, now)
        row.confidence, row.used_at = after.confidence, after.used_at
        changed.append(after)
    return changed


async def undo_use_within(session: AsyncSession, what: Use, cause: str, now: datetime) -> None:
    """Undo the uses of memories by a cause, within a transaction, and restore their confidence."""
    gone = delete(MemoryUseRow).where(MemoryUseRow.use == what.value, MemoryUseRow.cause == cause)
    for memory_id in (await session.scalars(gone.returning(MemoryUseRow.memory_id))).all():
        row = await session.get(MemoryRow, memory_id, with_for_update=True)
        if row is not None:
            after = memories.revert_use(from_row(row), what, now)
            row.confidence, row.used_at = after.confidence, after.used_at


async def list_repositories(database: Database, installation_id: int) -> Sequence[int]:
    """The ids of the repositories of an installation that have memories."""
    query = select(MemoryRow.repository_id).where(MemoryRow.installation_id == installation_id).distinct()
    return await database.scalars(query)


async def archive_within(session: AsyncSession, ids: Collection[str], why: Archived, now: datetime) -> Sequence[str]:
    """Archive memories, within a transaction; returns the ids of those that were live."""
    archived = (
        update(MemoryRow)
        .where(MemoryRow.id.in_(ids), MemoryRow.archived_at.is_(None))
        .values(archived_at=now, archived_why=why.value)
        .returning(MemoryRow.id)
    )
    return (await session.scalars(archived)).all()


async def _load(database: Database, query: Select[MemoryRow]) -> Sequence[Memory]:
    return [from_row(row) for row in await database.scalars(query)]


async def lock_repository(session: AsyncSession, dialect: str, repository_id: int) -> None:
    """Lock a repository until the end of the transaction, so that concurrent additions count right."""
    if dialect == "postgresql":
        name = func.hashtextextended(f"memories of {repository_id}", 0)
        await session.execute(select(func.pg_advisory_xact_lock(name)))
    else:  # SQLite locks at the first write, even if it changes nothing
        await session.execute(update(MemoryRow).where(MemoryRow.id == "").values(archived_why=None))


async def make_room(
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
        live = [from_row(row) for row in await session.scalars(select(MemoryRow).where(*is_live))]
        found = memory_consolidation.plan_eviction(live, new, most, now)
        kept = found.kept
        await _archive_for_room(session, repository_id, [each.id for each in found.gone], trace, now)
    session.add_all(map(to_row, kept))
    await session.flush()
    return kept


async def _archive_for_room(
    session: AsyncSession, repository_id: int, ids: Sequence[str], trace: str, now: datetime
) -> None:
    for memory_id in await archive_within(session, ids, Archived.crowded, now):
        facts = {"memory": memory_id, "repository": repository_id, "why": Archived.crowded.value}
        ledger.record(session, trace, EventType.memory_archived, now, source="capacity", payload=facts)
