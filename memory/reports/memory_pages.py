"""Loads what the dashboard's pages about memories show: lists paged by key, and those that a text finds."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select

from domain.memories.memory import MemoryKind
from domain.runs.run import RepositoryRef
from memory.db.engine import Database
from memory.db.tables.learned import MemoryRow
from memory.learned.catalogue import CatalogueEntry, build_entries
from memory.learned.recall import RecallQuery, recall
from memory.reports.run_pages import KeyedPage, PageKey, load_page


@dataclass(frozen=True)
class MemoryFilter:
    """Which memories are listed.

    :param kind: None: all.
    :param archived: those that are archived, instead of those that count.
    """

    kind: MemoryKind | None = None
    archived: bool = False


async def list_memories(
    database: Database, repository_id: int, wanted: MemoryFilter, key: PageKey, limit: int
) -> KeyedPage[CatalogueEntry]:
    """A page of the memories of a repository, newest first.

    :param key: ids of memories.
    """
    where = [MemoryRow.repository_id == repository_id]
    where.append(MemoryRow.archived_at.is_not(None) if wanted.archived else MemoryRow.archived_at.is_(None))
    if wanted.kind is not None:
        where.append(MemoryRow.kind == wanted.kind.value)
    async with database.transaction() as session:
        rows, newer, older = await load_page(session, MemoryRow, where, key, limit)
        return KeyedPage(await build_entries(session, rows), newer, older)


async def search(
    database: Database, repository: RepositoryRef, text: str, now: datetime, limit: int
) -> Sequence[CatalogueEntry]:
    """The memories that count and hold these words, tags or paths, best first."""
    found = await recall(database, RecallQuery(repository, text, tuple(text.split()), limit=limit), now)
    ids = [each.memory.id for each in found]
    async with database.transaction() as session:
        rows = {row.id: row for row in await session.scalars(select(MemoryRow).where(MemoryRow.id.in_(ids)))}
        return await build_entries(session, [rows[each] for each in ids if each in rows])
