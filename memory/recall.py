"""Finds the memories that fit what an agent is about to do, and keeps what became of telling them (SPEC M2).

The text search of the database says which memories of the scope hold which of the words asked for; what that is worth
is the same on both databases (:mod:`domain.ranking`).
"""

import json
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import BigInteger, String, column, select, table, text, update
from sqlalchemy.orm import Session

from domain import ranking
from domain.memories import Archived, Memory
from domain.ranking import Recalled
from domain.runs import Phase, RepositoryRef
from memory.database import Connection, Database, insert_new
from memory.memories import of_row, within
from memory.tables import MemoryRow, RecallRow
from memory.vectors import Vector, nearness

__all__ = ["Asked", "Recalled", "helped", "note", "recall", "settle", "told"]

_MOST_TAGS = 32
_TAG = 200  # characters of a tag that count, as in migration 0009
HELPED, IGNORED = "helped", "ignored"


@dataclass(frozen=True)
class Asked:
    """What is looked up. Text and tags may come from anyone.

    :param tags: rules and paths; a memory that has one of them is found by it, whatever it says.
    :param organisation: whether the repository takes part in what its organisation learned.
    """

    repository: RepositoryRef
    text: str
    tags: tuple[str, ...] = ()
    organisation: bool = False
    limit: int = 10


async def recall(database: Database, asked: Asked, now: datetime, vector: Vector | None = None) -> Sequence[Recalled]:
    """The live memories that fit, best first. Nothing is written: see :func:`note`.

    :param vector: of what is asked, if a model makes some of memories, too.
    """
    words = ranking.terms(" ".join((*asked.tags, asked.text)))
    tags = tuple(dict.fromkeys(asked.tags))[:_MOST_TAGS]
    # Here the scope is held; that words and vectors are looked up within it only makes that quick.
    seen = within(asked.repository, organisation=asked.organisation)

    def find(connection: Connection) -> Sequence[Recalled]:
        rankings = [*_by_text(connection, asked, words, tags)]
        if vector is not None:
            near = nearness(connection, asked.repository, vector, organisation=asked.organisation)
            rankings.append(ranking.places(near))
        scores = ranking.fused(rankings)
        query = select(MemoryRow).where(MemoryRow.id.in_(scores.keys()), MemoryRow.archived_at.is_(None), seen)
        with Session(connection) as session:
            found = [Recalled(of_row(row), scores[row.id]) for row in session.scalars(query)]
        return ranking.best(found, now, asked.limit)

    return await database.at_once(find) if words or tags or vector is not None else ()


def _by_text(
    connection: Connection, asked: Asked, words: Sequence[str], tags: Sequence[str]
) -> Sequence[Mapping[str, int]]:
    """The places of memories, by their ids, for the words and for the tags they hold."""
    if not (words or tags):
        return ()
    alike = _held(connection, asked, words, tags)
    every = (1 << len(words)) - 1
    by_words = ranking.by_words(ranking.regrouped(alike, lambda bits: bits & every))
    by_tags = ranking.by_words(ranking.regrouped(alike, lambda bits: bits >> len(words)) if tags else {})
    numbers = table(
        "memory_words_ids" if connection.dialect.name == "sqlite" else "memory_words",
        column("number", BigInteger),
        column("memory_id", String),
    )
    query = select(numbers).where(numbers.c.number.in_({*by_words, *by_tags}))
    ids = {row.number: row.memory_id for row in connection.execute(query)}
    return [{ids[number]: place for number, place in places.items()} for places in (by_words, by_tags)]


def _held(
    connection: Connection, asked: Asked, words: Sequence[str], tags: Sequence[str]
) -> Mapping[int, Sequence[int]]:
    """The numbers of the scope's memories by what they hold of words and tags: a bit for each, words first."""
    scope = [f"r{asked.repository.id}"]
    if asked.organisation:
        scope.append(f"i{asked.repository.installation_id}")
    marks = [f"t{tag[:_TAG].encode(errors='replace').hex().upper()}0" for tag in tags]
    held = _held_in_sqlite if connection.dialect.name == "sqlite" else _held_in_postgresql
    return held(connection, scope, words, marks)


def _held_in_sqlite(
    connection: Connection, scope: Sequence[str], words: Sequence[str], marks: Sequence[str]
) -> Mapping[int, Sequence[int]]:
    """A row for each word, as one for each hit would take longer. The bits are put together here: SQLite would sort."""
    asked = [*(f'words : "{word}"' for word in words), *(f"marks : {mark}" for mark in marks)]
    each = (
        f"SELECT {1 << place}, json_group_array(rowid) FROM memory_words WHERE memory_words MATCH :asked{place}"
        for place in range(len(asked))
    )
    values = {f"asked{place}": f"marks : ({' OR '.join(scope)}) AND {one}" for place, one in enumerate(asked)}
    held: defaultdict[int, int] = defaultdict(int)
    for bit, numbers in connection.execute(text(" UNION ALL ".join(each)), values):
        for number in json.loads(numbers):
            held[number] |= bit
    alike: dict[int, list[int]] = defaultdict(list)
    for number, bits in held.items():
        alike[bits].append(number)
    return alike


def _held_in_postgresql(
    connection: Connection, scope: Sequence[str], words: Sequence[str], marks: Sequence[str]
) -> Mapping[int, Sequence[int]]:
    """Words are made lexemes first: a query made within the search would be made anew for each row."""
    lexemes = text("SELECT plainto_tsquery('english', word)::text FROM unnest(CAST(:words AS text[])) AS word")
    found = [*connection.scalars(lexemes, {"words": list(words)}), *(f"'@{mark}'" for mark in marks)]
    asked = {place: lexeme for place, lexeme in enumerate(found) if lexeme}  # without those that it leaves out
    if not asked:
        return {}
    bits = (f"CAST(words @@ CAST(:asked{place} AS tsquery) AS int) * {1 << place}::bigint" for place in asked)
    query = text(
        f"SELECT {' + '.join(bits)} AS held, array_agg(number) AS numbers FROM memory_words"
        " WHERE words @@ CAST(:anything AS tsquery) AND words @@ CAST(:scope AS tsquery) GROUP BY held"
    )
    values = {f"asked{place}": lexeme for place, lexeme in asked.items()}
    values["anything"] = " | ".join(f"({lexeme})" for lexeme in asked.values())
    values["scope"] = " | ".join(f"'@{mark}'" for mark in scope)
    return {row.held: row.numbers for row in connection.execute(query, values)}


async def note(
    database: Database, run_id: str, phase: Phase, task: str, recalled: Sequence[Recalled], now: datetime
) -> None:
    """Keep that an agent was told these memories, best first; once for each task of a run. It makes none more sure."""
    if not recalled:
        return
    rows = [
        {"run_id": run_id, "task": task, "memory_id": each.memory.id, "phase": phase.value, "rank": rank, "at": now}
        for rank, each in enumerate(recalled, start=1)
    ]
    noted = insert_new(database.dialect, RecallRow).values(rows).returning(RecallRow.memory_id)
    accessed = {"last_accessed": now, "access_count": MemoryRow.access_count + 1}

    def keep(connection: Connection) -> None:
        new = connection.scalars(noted).all()
        connection.execute(update(MemoryRow).where(MemoryRow.id.in_(new)).values(accessed))

    await database.at_once(keep)


async def told(database: Database, run_id: str, task: str) -> Sequence[Memory]:
    """The memories that a task of a run was told, best first; those that people made Forge forget are told no more."""
    query = (
        select(MemoryRow)
        .join(RecallRow, RecallRow.memory_id == MemoryRow.id)
        .where(RecallRow.run_id == run_id, RecallRow.task == task, MemoryRow.archived_why != Archived.forgotten.value)
        .order_by(RecallRow.rank)
    )
    async with database.transaction() as session:
        return [of_row(row) for row in await session.scalars(query)]


async def helped(database: Database, run_id: str, task: str, ids: Collection[str], now: datetime) -> None:
    """Keep which of the memories a task was told helped it.

    It changes the confidence of none: that follows from uses (:func:`memory.memories.use`).
    """
    which = update(RecallRow).where(
        RecallRow.run_id == run_id, RecallRow.task == task, RecallRow.memory_id.in_(ids), RecallRow.outcome != HELPED
    )
    async with database.transaction() as session:
        await session.execute(which.values(outcome=HELPED, known_at=now))


async def settle(database: Database, run_id: str, now: datetime) -> Sequence[str]:
    """Keep, once a run is over, that what did not help it was ignored; the ids of what helped it."""
    rest = update(RecallRow).where(RecallRow.run_id == run_id, RecallRow.outcome == "")
    which = select(RecallRow.memory_id).where(RecallRow.run_id == run_id, RecallRow.outcome == HELPED).distinct()
    async with database.transaction() as session:
        await session.execute(rest.values(outcome=IGNORED, known_at=now))
        return (await session.scalars(which)).all()
