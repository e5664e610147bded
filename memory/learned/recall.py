"""Finds the memories that fit the task of an agent, and records whether they helped.

The text search of the database finds which memories hold which words; the ranking is the same on both databases
(:mod:`domain.memories`).
"""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import JSON, BigInteger, String, column, select, table, text, update

from domain import memories
from domain.events import EventType
from domain.memories import Archived, Memory, MemoryKind, RecalledMemory
from domain.runs.run import Phase, RepositoryRef
from memory import ledger
from memory.db.engine import Connection, Database, insert_new
from memory.db.tables.repositories import FeedbackRow, MemoryRow, RecallRow
from memory.db.tables.runs import RunRow
from memory.learned.memories import from_row, is_visible_to
from memory.learned.vectors import Vector, compute_similarity

__all__ = ["RecallQuery", "RecalledMemory", "list_recalled", "list_teachers", "mark_helped", "note", "recall", "settle"]

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
    words = memories.extract_terms(" ".join((*asked.tags, asked.text)))
    tags = tuple(dict.fromkeys(asked.tags))[:_MOST_TAGS]
    # This condition enforces the scope; the look-ups by words and vectors use it only to be quick.
    seen = is_visible_to(asked.repository, organisation=asked.organisation)

    def find(connection: Connection) -> Sequence[RecalledMemory]:
        rankings = [*rank_by_text(connection, asked.repository, words, tags, organisation=asked.organisation)]
        if vector is not None:
            near = compute_similarity(connection, asked.repository, vector, organisation=asked.organisation)
            rankings.append(memories.rank_by_worth(near))
        scores = memories.fuse_rankings(rankings)
        query = select(MemoryRow).where(MemoryRow.id.in_(scores.keys()), MemoryRow.archived_at.is_(None), seen)
        if asked.files is not None:
            taught = select(FeedbackRow.id).where(FeedbackRow.memory_id == MemoryRow.id)
            query = query.where(~taught.exists() | taught.where(FeedbackRow.path.in_(asked.files)).exists())
        if asked.not_by:
            query = query.where(MemoryRow.taught_by.not_in(asked.not_by))
        if asked.kind is not None:
            query = query.where(MemoryRow.kind == asked.kind.value)
        found = [RecalledMemory(from_row(row), scores[row.id]) for row in connection.execute(query)]
        return memories.select_best(found, now, asked.limit)

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
        .where(
            RecallRow.run_id == run_id,
            RecallRow.task == task,
            MemoryRow.archived_why.is_distinct_from(Archived.forgotten.value),
        )
        .order_by(RecallRow.rank)
    )
    return [from_row(row) for row in await database.scalars(query)]


async def list_teachers(database: Database, repository_id: int, number: int) -> frozenset[int]:
    """The accounts that alone vouch for what agents were told on an issue or a pull request, also if it is gone now."""
    query = (
        select(MemoryRow.taught_by)
        .join(RecallRow, RecallRow.memory_id == MemoryRow.id)
        .join(RunRow, RunRow.id == RecallRow.run_id)
        .where(RunRow.repository_id == repository_id, RunRow.number == number, MemoryRow.taught_by != 0)
    )
    return frozenset(await database.scalars(query.distinct()))


async def mark_helped(database: Database, run_id: str, task: str, ids: Collection[str]) -> None:
    """Record which of its memories helped a task.

    This changes no confidence; only uses do (:func:`memory.learned.memories.record_use`).
    """
    which = update(RecallRow).where(
        RecallRow.run_id == run_id, RecallRow.task == task, RecallRow.memory_id.in_(ids), RecallRow.outcome != HELPED
    )
    await database.execute(which.values(outcome=HELPED))


async def settle(database: Database, run_id: str) -> Sequence[str]:
    """Record, once a run is over, that its other memories were ignored; returns the ids of those that helped."""
    rest = update(RecallRow).where(RecallRow.run_id == run_id, RecallRow.outcome == "")
    which = select(RecallRow.memory_id).where(RecallRow.run_id == run_id, RecallRow.outcome == HELPED).distinct()
    async with database.transaction() as session:
        await session.execute(rest.values(outcome=IGNORED))
        return (await session.scalars(which)).all()


_TAG = 200  # characters of a tag that count, as in the migration
# One row for each word: a row for each hit, or testing each hit for every word, would take longer. PostgreSQL turns
# words into lexemes and leaves out words such as "the", so that no memory holds these.
_IN_SQLITE = text("""
    SELECT (SELECT json_group_array(rowid) FROM memory_words WHERE memory_words MATCH asked.value) AS numbers
    FROM json_each(:asked) AS asked ORDER BY asked.key
""").columns(numbers=JSON)
_IN_POSTGRESQL = text("""
    SELECT (
        SELECT json_agg(number) FROM memory_words WHERE words @@ one AND words @@ CAST(:scope AS tsquery)
    ) AS numbers
    FROM (
        SELECT 1 AS part, place, plainto_tsquery('english', word) AS one
        FROM unnest(CAST(:words AS text[])) WITH ORDINALITY AS asked(word, place)
        UNION ALL
        SELECT 2, place, CAST(mark AS tsquery)
        FROM unnest(CAST(:marks AS text[])) WITH ORDINALITY AS asked(mark, place)
    ) AS asked ORDER BY part, place
""").columns(numbers=JSON)


def rank_by_text(
    connection: Connection, repository: RepositoryRef, words: Sequence[str], tags: Sequence[str], *, organisation: bool
) -> tuple[Mapping[str, int], Mapping[str, int]]:
    """The ranks of live memories, by their ids: for the words they hold, and for the tags.

    :param words: only lower-case letters and digits.
    :param tags: any text.
    :param organisation: whether the repository takes part in what its organisation learned.
    """
    if not (words or tags):
        return {}, {}
    scope = [f"r{repository.id}"]
    if organisation:
        scope.append(f"i{repository.installation_id}")
    marks = [f"t{tag[:_TAG].encode(errors='replace').hex().upper()}0" for tag in tags]
    holders = _holders(connection, scope, words, marks)
    rankings = memories.rank_by_words(holders[: len(words)]), memories.rank_by_words(holders[len(words) :])
    ids = _ids(connection, {number for each in rankings for number in each})
    by_words, by_tags = (
        {ids[number]: place for number, place in each.items() if number in ids} for each in rankings
    )  # without memories that were archived or changed since the statement before
    return by_words, by_tags


def _holders(
    connection: Connection, scope: Sequence[str], words: Sequence[str], marks: Sequence[str]
) -> Sequence[Sequence[int]]:
    """For each word, and then for each mark, the numbers of the scope's memories that hold it."""
    if connection.dialect.name == "sqlite":
        query, seen = _IN_SQLITE, f"marks : ({' OR '.join(scope)})"
        each = [*(f'words : "{word}"' for word in words), *(f"marks : {mark}" for mark in marks)]
        values: Mapping[str, object] = {"asked": json.dumps([f"{seen} AND {one}" for one in each])}
    else:
        query, seen = _IN_POSTGRESQL, " | ".join(f"'@{mark}'" for mark in scope)
        values = {"scope": seen, "words": list(words), "marks": [f"'@{mark}'" for mark in marks]}
    return [numbers or () for numbers in connection.scalars(query, values)]


def _ids(connection: Connection, numbers: set[int]) -> Mapping[int, str]:
    known = table(
        "memory_words_ids" if connection.dialect.name == "sqlite" else "memory_words",
        column("number", BigInteger),
        column("memory_id", String),
    )
    return {row.number: row.memory_id for row in connection.execute(select(known).where(known.c.number.in_(numbers)))}
