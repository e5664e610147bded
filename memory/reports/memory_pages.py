"""Loads what the dashboard shows of memories: lists paged by key, and those that a text finds."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import String, cast, select

from domain.memories import MemoryKind
from domain.runs.run import RepositoryRef
from memory.db.engine import Database
from memory.db.tables.repositories import MemoryRow
from memory.learned.catalogue import CatalogueEntry, build_entries
from memory.learned.recall import RecallQuery, recall
from memory.reports.pages import KeyedPage, PageKey, load_page


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
    database: Database, repository: RepositoryRef, wanted: MemoryFilter, text: str, now: datetime, limit: int
) -> Sequence[CatalogueEntry]:
    """The memories with these words, tags or paths: of those that count the best first, of archived ones the newest."""
    if wanted.archived:
        return await _search_archived(database, repository.id, wanted.kind, text, limit)
    asked = RecallQuery(repository, text, tuple(text.split()), kind=wanted.kind, limit=limit)
    ids = [each.memory.id for each in await recall(database, asked, now)]
    async with database.transaction() as session:
        rows = {row.id: row for row in await session.scalars(select(MemoryRow).where(MemoryRow.id.in_(ids)))}
        return await build_entries(session, [rows[each] for each in ids if each in rows])


async def _search_archived(
    database: Database, repository_id: int, kind: MemoryKind | None, text: str, limit: int
) -> Sequence[CatalogueEntry]:
    """Archived memories that hold each of the words as it is; they are in no index of words."""
    held = MemoryRow.content + " " + MemoryRow.context + " " + cast(MemoryRow.tags, String)
    query = select(MemoryRow).where(MemoryRow.repository_id == repository_id, MemoryRow.archived_at.is_not(None))
    query = query.where(*(held.icontains(word, autoescape=True) for word in text.split()))
    if kind is not None:
        query = query.where(MemoryRow.kind == kind.value)
    async with database.transaction() as session:
        rows = (await session.scalars(query.order_by(MemoryRow.id.desc()).limit(limit))).all()
        return await build_entries(session, rows)
