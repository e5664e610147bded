"""Loads what the dashboard shows of memories: lists paged by key, those that a text finds, and what each mutes."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import String, cast, func, or_, select
from sqlalchemy.ext.asyncio import AsyncSession

from domain.memories import MemoryKind
from domain.review.avoidance import RULE
from domain.review.review import SuppressedFinding
from domain.runs.run import Phase, RepositoryRef
from domain.value import shorten_id
from memory.db.engine import Database
from memory.db.tables.repositories import FeedbackRow, FindingRow, MemoryRow, is_dismissal
from memory.db.tables.runs import CheckpointRow
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


_LATEST = 200  # findings that no review contains, which are looked at for similar dismissals


@dataclass(frozen=True)
class MutedCount:
    """How many findings a memory mutes.

    :param latest: when the newest of them was found first; None: there is none.
    """

    count: int = 0
    latest: datetime | None = None

    def add(self, at: datetime) -> "MutedCount":
        """One more, found first at this time."""
        return MutedCount(self.count + 1, at if self.latest is None else max(at, self.latest))


async def count_muted(database: Database, repository_id: int, memory_ids: Collection[str]) -> Mapping[str, MutedCount]:
    """How many findings each memory mutes now; those that mute none are left out.

    A finding that a later review no longer found counts as long as it is kept. Similar findings in other words are
    counted among the latest only: which those are is known from the reviews alone.

    :param memory_ids: whole ids.
    """
    async with database.transaction() as session:
        found = {
            memory: MutedCount(count, at) for memory, count, at in await _count_same(session, repository_id, memory_ids)
        }
        names = {shorten_id("M", each): each for each in memory_ids}
        for memory, at in await _list_similar(session, repository_id, names):
            found[memory] = found.get(memory, MutedCount()).add(at)
    return found


async def _count_same(
    session: AsyncSession, repository_id: int, memory_ids: Collection[str]
) -> Sequence[tuple[str, int, datetime]]:
    """Findings with the code and the rule of one that was dismissed."""
    query = (
        select(FeedbackRow.memory_id, func.count(FindingRow.id.distinct()), func.max(FindingRow.created_at))
        .join(
            FindingRow,
            (FindingRow.repository_id == FeedbackRow.repository_id)
            & (FindingRow.fingerprint == FeedbackRow.fingerprint),
        )
        .where(
            FeedbackRow.memory_id.in_(memory_ids),
            FeedbackRow.repository_id == repository_id,
            is_dismissal(),
            or_(FeedbackRow.number == FindingRow.number, ~FeedbackRow.rule.startswith(RULE)),
        )
        .group_by(FeedbackRow.memory_id)
    )
    return [(memory, count, at) for memory, count, at in await session.execute(query)]


async def _list_similar(
    session: AsyncSession, repository_id: int, names: Mapping[str, str]
) -> Sequence[tuple[str, datetime]]:
    """Findings that dismissals of similar ones mute: the memory, and when the finding was found first.

    :param names: whole ids by short ones.
    """
    latest = (
        select(FindingRow.last_run, FindingRow.fingerprint, FindingRow.created_at)
        .where(FindingRow.repository_id == repository_id, FindingRow.posted_by.is_(None))
        .order_by(FindingRow.id.desc())
        .limit(_LATEST)
        .subquery()
    )
    dismissed = select(FeedbackRow.id).where(
        FeedbackRow.repository_id == repository_id,
        FeedbackRow.fingerprint == latest.c.fingerprint,
        is_dismissal(),
    )
    query = select(latest.c.last_run, latest.c.fingerprint, latest.c.created_at).where(~dismissed.exists())
    silent = {(run, fingerprint): at for run, fingerprint, at in await session.execute(query)}
    reviews = select(CheckpointRow.run_id, CheckpointRow.output["held"]).where(
        CheckpointRow.run_id.in_({run for run, _ in silent}), CheckpointRow.phase == Phase.review.value
    )
    return [
        (names[short], silent[run, each.finding.fingerprint])
        for run, held in await session.execute(reviews)
        for each in map(SuppressedFinding.model_validate, held or ())
        for short in each.memories
        if short in names and (run, each.finding.fingerprint) in silent
    ]
