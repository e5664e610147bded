"""Lists, shows, adds and corrects memories, for the operator, for the people of a repository, and for production."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import String, cast, func, select
from sqlalchemy.ext.asyncio import AsyncSession

from domain import memories as deciding
from domain.commands import Sender
from domain.events import Event, EventType
from domain.memories import Archived, Memory, MemoryKind, Origin, Use, make_content_key
from domain.runs.run import RepositoryRef
from memory import ledger
from memory.db.engine import Database
from memory.db.tables.repositories import FeedbackRow, MemoryRow, MemoryUseRow, RecallRow
from memory.db.tables.runs import EventRow, RunRow
from memory.learned import memories, vectors
from safety.memory_consolidation import MOST_LIVE, PATTERN

OPERATOR = "operator"
_EVENTS = (
    EventType.memory_stored,
    EventType.memory_edited,
    EventType.memory_archived,
    EventType.learning_stored,
)
_BATCH = 500  # parameters of a statement


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


@dataclass(frozen=True)
class CatalogueEntry:
    """A memory with how often it was recalled.

    :param recalled_at: None if it never was.
    :param uses: how often it was used, by kind.
    """

    memory: Memory
    recalls: int
    recalled_at: datetime | None
    uses: Counter[str]


@dataclass(frozen=True)
class Recall:
    """A recall of a memory for an agent.

    :param repository_id: in which it was recalled, perhaps another one of the organisation; None if the run is not
        known, as with ``number``, of the pull request or issue.
    :param outcome: empty while it is not known.
    """

    at: datetime
    run_id: str
    repository_id: int | None
    number: int | None
    task: str
    rank: int
    outcome: str


@dataclass(frozen=True)
class SourceDismissal:
    """The dismissal that taught a memory."""

    finding: str
    number: int
    by: str
    is_undone: bool


@dataclass(frozen=True)
class MemoryHistory:
    """Everything about a memory, oldest first.

    :param uses: (time, use, cause).
    :param events: who stored, edited or archived it, as far as the ledger goes back.
    """

    entry: CatalogueEntry
    uses: Sequence[tuple[datetime, str, str]]
    recalls: Sequence[Recall]
    events: Sequence[Event]
    dismissals: Sequence[SourceDismissal]


async def list_memories(
    database: Database,
    repository_ids: Sequence[int] | None,
    kind: MemoryKind | None = None,
    *,
    patterns: bool = False,
    archived: bool = False,
    limit: int | None = None,
) -> Sequence[CatalogueEntry]:
    """Memories, newest first.

    :param repository_ids: None: all.
    :param patterns: only patterns.
    :param archived: whether archived memories are included.
    """
    query = select(MemoryRow).order_by(MemoryRow.id.desc())
    if repository_ids is not None:
        query = query.where(MemoryRow.repository_id.in_(repository_ids))
    if kind is not None:
        query = query.where(MemoryRow.kind == kind.value)
    if patterns:
        query = query.where(cast(MemoryRow.tags, String).contains(f'"{PATTERN}"'))
    if not archived:
        query = query.where(MemoryRow.archived_at.is_(None))
    async with database.transaction() as session:
        rows = (await session.scalars(query.limit(limit))).all()
        return await build_entries(session, rows)


async def find_by_short_id(database: Database, shown: str) -> Sequence[Memory]:
    """The memories of any repository whose id ends so."""
    ends = MemoryRow.id.endswith(shown.upper().removeprefix("M-"), autoescape=True)
    return [memories.from_row(row) for row in await database.scalars(select(MemoryRow).where(ends).limit(5))]


async def load_history(database: Database, memory: Memory) -> MemoryHistory:
    """Everything about a memory."""
    async with database.transaction() as session:
        [shelved] = await build_entries(session, [await session.get_one(MemoryRow, memory.id)])
        used = select(MemoryUseRow).where(MemoryUseRow.memory_id == memory.id).order_by(MemoryUseRow.at)
        told = (
            select(RecallRow, RunRow.repository_id, RunRow.number)
            .outerjoin(RunRow, RunRow.id == RecallRow.run_id)
            .where(RecallRow.memory_id == memory.id)
            .order_by(RecallRow.at, RecallRow.task)
        )
        happened = select(EventRow).where(
            EventRow.type.in_([kind.value for kind in _EVENTS]),
            EventRow.payload["memory"].as_string() == memory.id,
        )  # unordered, because SQLite would read all events in their order
        taught = select(FeedbackRow).where(FeedbackRow.memory_id == memory.id).order_by(FeedbackRow.id)
        return MemoryHistory(
            shelved,
            [(row.at, row.use, row.cause) for row in await session.scalars(used)],
            [_recall(*row) for row in await session.execute(told)],
            sorted(
                (Event.model_validate(row, from_attributes=True) for row in await session.scalars(happened)),
                key=lambda event: event.id,
            ),
            [
                SourceDismissal(row.name, row.number, row.by_login, row.undone_at is not None)
                for row in await session.scalars(taught)
            ],
        )


async def add(database: Database, memory: Memory, by: str, most: int = MOST_LIVE) -> Memory | None:
    """Store a memory from the operator.

    :param most: live memories that its repository may have.
    :returns: this memory, or one that says the same already; None if there is no room.
    """
    where, now = memory.repository_id, memory.created_at
    async with database.transaction() as session:
        await memories.lock_repository(session, database.dialect, where)
        known = await _load_by_key(session, where)
        if (same := known.get(_key(memory))) is not None:
            return same
        if not await memories.make_room(session, where, [memory], most, OPERATOR, now):
            return None
        await _record(session, memory, EventType.memory_stored, by, now)
        return memory


@dataclass(frozen=True)
class MemoryKeeper:
    """A person who corrects or archives a memory.

    :param number: of the issue or pull request in which they do so; None: in none.
    """

    repository: RepositoryRef
    sender: Sender
    number: int | None = None


async def edit(database: Database, memory: Memory, changed: Memory, by: MemoryKeeper | str, now: datetime) -> bool:
    """Correct a memory; the ledger keeps what it said before. False if it was archived meanwhile.

    :param by: a person of its repository, or the operator.
    """
    async with database.transaction() as session:
        row = await session.get_one(MemoryRow, memory.id, with_for_update=True)
        if row.archived_at is not None:
            return False
        before, after = _describe(memories.from_row(row)), _describe(changed)
        row.content, row.context, row.tags = changed.content, changed.context, [*changed.tags]
        row.taught_by = changed.taught_by
        await vectors.drop(session, memory)
        await _record(session, memory, EventType.memory_edited, by, now, before=before, after=after)
        return True


async def archive(database: Database, memory: Memory, by: MemoryKeeper | str, now: datetime) -> bool:
    """Archive a memory; returns whether it was live.

    :param by: a person of its repository, or the operator.
    """
    async with database.transaction() as session:
        if not await memories.archive_within(session, [memory.id], Archived.forgotten, now):
            return False
        await _record(session, memory, EventType.memory_archived, by, now, why=Archived.forgotten.value)
        return True


async def build_entries(session: AsyncSession, rows: Sequence[MemoryRow]) -> Sequence[CatalogueEntry]:
    """The memories of rows with how often they were used, in the same order."""
    uses: dict[str, Counter[str]] = {}
    ids = [row.id for row in rows]
    query = select(MemoryUseRow.memory_id, MemoryUseRow.use, func.count())
    for start in range(0, len(ids), _BATCH):
        batch = query.where(MemoryUseRow.memory_id.in_(ids[start : start + _BATCH]))
        for memory_id, use, count in await session.execute(batch.group_by(MemoryUseRow.memory_id, MemoryUseRow.use)):
            uses.setdefault(memory_id, Counter())[use] = count
    return [
        CatalogueEntry(
            memories.from_row(row),
            row.access_count,
            row.last_accessed if row.access_count else None,
            uses.get(row.id, Counter()),
        )
        for row in rows
    ]


async def _load_by_key(session: AsyncSession, repository_id: int) -> dict[str, Memory]:
    is_live = MemoryRow.repository_id == repository_id, MemoryRow.archived_at.is_(None)
    live = select(MemoryRow).where(*is_live).order_by(MemoryRow.id.desc())
    found = [memories.from_row(row) for row in await session.scalars(live)]
    return {_key(memory): memory for memory in found}


def _key(memory: Memory) -> str:
    return make_content_key(memory.content, memory.context)


def _describe(memory: Memory) -> Mapping[str, Any]:
    return {"content": memory.content, "context": memory.context, "tags": [*memory.tags]}


def _recall(row: RecallRow, repository_id: int | None, number: int | None) -> Recall:
    return Recall(row.at, row.run_id, repository_id, number, row.task, row.rank, row.outcome)


async def _record(
    session: AsyncSession, memory: Memory, kind: EventType, by: MemoryKeeper | str, now: datetime, **facts: object
) -> None:
    if isinstance(by, MemoryKeeper):
        told: dict[str, object] = {"memory": memory.id, **facts}
        await ledger.record_person_action(session, by.repository, by.number, kind, by.sender, now, **told)
    else:
        payload = {"memory": memory.id, "repository": memory.repository_id, "by": by, **facts}
        ledger.record(session, OPERATOR, kind, now, source=OPERATOR, payload=payload)
