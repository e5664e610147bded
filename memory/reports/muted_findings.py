"""Counts the findings that memories mute: those that taught them, the same elsewhere, and the latest similar ones."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import func, or_, select
from sqlalchemy.ext.asyncio import AsyncSession

from domain.ids import shorten_id
from domain.review.avoidance import RULE
from domain.review.suppression import SuppressedFinding
from domain.runs.run import Phase
from memory.db.engine import Database
from memory.db.tables.findings import DismissalRow, FindingRow
from memory.db.tables.runs import CheckpointRow

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
        select(DismissalRow.memory_id, func.count(FindingRow.id.distinct()), func.max(FindingRow.created_at))
        .join(
            FindingRow,
            (FindingRow.repository_id == DismissalRow.repository_id)
            & (FindingRow.fingerprint == DismissalRow.fingerprint),
        )
        .where(
            DismissalRow.memory_id.in_(memory_ids),
            DismissalRow.repository_id == repository_id,
            DismissalRow.undone_at.is_(None),
            or_(DismissalRow.number == FindingRow.number, ~DismissalRow.rule.startswith(RULE)),
        )
        .group_by(DismissalRow.memory_id)
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
    dismissed = select(DismissalRow.id).where(
        DismissalRow.repository_id == repository_id,
        DismissalRow.fingerprint == latest.c.fingerprint,
        DismissalRow.undone_at.is_(None),
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
