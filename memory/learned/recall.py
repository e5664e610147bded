"""Finds the memories that fit the task of an agent, and records whether they helped."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select, update

from domain.events import EventType
from domain.memories import ranking
from domain.memories.memory import Archived, Memory, MemoryKind
from domain.memories.ranking import RecalledMemory
from domain.runs.run import Phase, RepositoryRef
from memory.db.engine import Connection, Database, insert_new
from memory.db.tables.findings import FeedbackRow
from memory.db.tables.learned import MemoryRow, RecallRow
from memory.learned.fulltext import rank_by_text
from memory.learned.memories import from_row, is_visible_to
from memory.learned.vectors import Vector, compute_similarity
from memory.ledger import ledger

__all__ = ["RecallQuery", "RecalledMemory", "list_recalled", "mark_helped", "note", "recall", "settle"]

_MOST_TAGS = 32
HELPED, IGNORED = "helped", "ignored"


@dataclass(frozen=True)
class RecallQuery:
    """A query for memories. Text and tags may come from anyone.

    :param tags: rules and paths; a memory with one of these tags is found, whatever its text.
    :param organisation: whether the repository takes part in what its organisation learned.
    :param kind: None: any.
    :param files: the files that a task is about; what a dismissal taught is only about the file it was in. None: any.
    :param not_by: what these accounts alone taught is left out.
    """

    repository: RepositoryRef
    text: str
    tags: tuple[str, ...] = ()
    organisation: bool = False
    kind: MemoryKind | None = None
    files: tuple[str, ...] | None = None
    not_by: frozenset[int] = frozenset()
    limit: int = 10


async def recall(
    database: Database, asked: RecallQuery, now: datetime, vector: Vector | None = None
) -> Sequence[RecalledMemory]:
    """The live memories that fit, best first. Writes nothing; see :func:`note`.

    :param vector: vector of the query, if a model computes vectors of memories.
    """
    words = ranking.extract_terms(" ".join((*asked.tags, asked.text)))
    tags = tuple(dict.fromkeys(asked.tags))[:_MOST_TAGS]
    # This condition enforces the scope; the look-ups by words and vectors use it only to be quick.
    seen = is_visible_to(asked.repository, organisation=asked.organisation)

    def find(connection: Connection) -> Sequence[RecalledMemory]:
        rankings = [*rank_by_text(connection, asked.repository, words, tags, organisation=asked.organisation)]
        if vector is not None:
            near = compute_similarity(connection, asked.repository, vector, organisation=asked.organisation)
            rankings.append(ranking.rank_by_worth(near))
        scores = ranking.fuse_rankings(rankings)
        query = select(MemoryRow).where(MemoryRow.id.in_(scores.keys()), MemoryRow.archived_at.is_(None), seen)
        if asked.files is not None:
            taught = select(FeedbackRow.id).where(FeedbackRow.memory_id == MemoryRow.id)
            query = query.where(~taught.exists() | taught.where(FeedbackRow.path.in_(asked.files)).exists())
        if asked.not_by:
            query = query.where(MemoryRow.taught_by.not_in(asked.not_by))
        if asked.kind is not None:
            query = query.where(MemoryRow.kind == asked.kind.value)
        found = [RecalledMemory(from_row(row), scores[row.id]) for row in connection.execute(query)]
        return ranking.select_best(found, now, asked.limit)

    return await database.run_in_transaction(find) if words or tags or vector is not None else ()


async def note(
    database: Database, run_id: str, phase: Phase, task: str, recalled: Sequence[RecalledMemory], now: datetime
) -> None:
    """Record that an agent got these memories, best first; once for each task of a run. Changes no confidence."""
    if not recalled:
        return
    rows = [
        {"run_id": run_id, "task": task, "memory_id": each.memory.id, "phase": phase.value, "rank": rank, "at": now}
        for rank, each in enumerate(recalled, start=1)
    ]
    noted = insert_new(database.dialect, RecallRow).returning(RecallRow.memory_id)
    accessed = {"last_accessed": now, "access_count": MemoryRow.access_count + 1}

    def keep(connection: Connection) -> None:
        new = connection.scalars(noted, rows).all()
        connection.execute(update(MemoryRow).where(MemoryRow.id.in_(new)).values(accessed))
        if new:
            told = {"task": task, "memories": [each.memory.id for each in recalled if each.memory.id in new]}
            ledger.record(
                connection, run_id, EventType.memory_recalled, now, source="memory", phase=phase, payload=told
            )

    await database.run_in_transaction(keep)


async def list_recalled(database: Database, run_id: str, task: str) -> Sequence[Memory]:
    """The memories that a task of a run got, best first, without those that people made Forge forget since."""
    query = (
        select(MemoryRow)
        .join(RecallRow, RecallRow.memory_id == MemoryRow.id)
        .where(RecallRow.run_id == run_id, RecallRow.task == task, MemoryRow.archived_why != Archived.forgotten.value)
        .order_by(RecallRow.rank)
    )
    return [from_row(row) for row in await database.scalars(query)]


async def mark_helped(database: Database, run_id: str, task: str, ids: Collection[str], now: datetime) -> None:
    """Record which of its memories helped a task.

    This changes no confidence; only uses do (:func:`memory.learned.memories.record_use`).
    """
    which = update(RecallRow).where(
        RecallRow.run_id == run_id, RecallRow.task == task, RecallRow.memory_id.in_(ids), RecallRow.outcome != HELPED
    )
    await database.execute(which.values(outcome=HELPED, known_at=now))


async def settle(database: Database, run_id: str, now: datetime) -> Sequence[str]:
    """Record, once a run is over, that its other memories were ignored; returns the ids of those that helped."""
    rest = update(RecallRow).where(RecallRow.run_id == run_id, RecallRow.outcome == "")
    which = select(RecallRow.memory_id).where(RecallRow.run_id == run_id, RecallRow.outcome == HELPED).distinct()
    async with database.transaction() as session:
        await session.execute(rest.values(outcome=IGNORED, known_at=now))
        return (await session.scalars(which)).all()
