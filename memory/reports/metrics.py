"""Computes the metrics of a period from ledger, runs, spend, findings, gates and memories.

Most of it stays as it is once a day is over and is kept day by day (:mod:`memory.reports.metric_days`). The rest, which
people or agents may still change, is few and read anew.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import chain

from sqlalchemy import and_, select
from sqlalchemy.ext.asyncio import AsyncSession

from domain.gates import GateState
from domain.metrics import WEEK, Facts, RecallFact, Series, build_series, find_end_of_day, observe
from memory.db.engine import Database
from memory.db.tables.findings import DismissalRow, FindingRow
from memory.db.tables.gates import GateRow
from memory.db.tables.learned import MemoryRow, RecallRow
from memory.db.tables.runs import OutboxRow, RunRow
from memory.findings.dismissals import IS_ABOUT
from memory.reports import avoidance_facts, metric_days, recoveries, retention
from memory.reports.periods import ReportPeriod
from memory.reports.settled_facts import FINAL

_ANSWERED = [GateState.approved.value, GateState.rejected.value]
_OUTCOMES = {"helped": True, "ignored": False}


async def load_weekly(
    database: Database, now: datetime, weeks: int, repository_ids: Sequence[int] | None = None
) -> Sequence[Series]:
    """Every metric over the last weeks of seven UTC days, the last of which is today.

    :param repository_ids: None: over all repositories.
    """
    terms = await retention.load_terms(database, repository_ids)
    days = [terms.get(each, retention.USUAL_DAYS) for each in repository_ids or ()] or [
        retention.USUAL_DAYS,
        *terms.values(),
    ]
    end, whole = find_end_of_day(now), now - timedelta(days=min(days))
    since = max(end - WEEK * weeks, whole)
    settled = [
        await metric_days.load_observations(database, each, since, now)
        for each in ([None] if repository_ids is None else repository_ids)
    ]
    async with database.transaction() as session:
        moving = await load_moving(session, ReportPeriod(since, end, repository_ids))
    return build_series(chain(*settled, observe(moving)), end, weeks, whole)


async def load_moving(session: AsyncSession, period: ReportPeriod) -> Facts:
    """What happened in a period and may become other than it is, in the caller's transaction."""
    since, repository_ids = period.since, period.repository_ids
    dismissed = await _load_dismissed(session, period)
    return Facts(
        learned=await _load_learned(session, period),
        told=await _load_recalls(session, period),
        posted=[(at, 1, 0) for at in dismissed],
        dismissed=await _load_dismissal_times(session, period),
        answered=await _load_answers(session, period),
        troubles=await recoveries.load_troubles(session, since, repository_ids),
        alarms=[(at, 1, 0) for at in await avoidance_facts.load_false_alarms(session, period)],
        judged=await avoidance_facts.load_judged(session, since, repository_ids),
        whitelisted=await avoidance_facts.load_whitelisted(session, since, repository_ids),
        destructive=await avoidance_facts.load_destructive(session, since, repository_ids),
        alternatives=await avoidance_facts.load_alternatives(session, since, repository_ids),
    )


async def _load_learned(session: AsyncSession, period: ReportPeriod) -> Sequence[datetime]:
    """When each memory was learned. Pinned memories are left out, because people stated them."""
    learned = (
        select(MemoryRow.created_at)
        .where(MemoryRow.id >= period.first_id, MemoryRow.created_at >= period.since, MemoryRow.pinned.is_(False))
        .where(*period.match_repositories(MemoryRow.repository_id))
    )
    return (await session.scalars(learned)).all()


async def _load_recalls(session: AsyncSession, period: ReportPeriod) -> Sequence[RecallFact]:
    told = (
        select(RunRow.created_at, RecallRow.run_id, RecallRow.task, RecallRow.outcome)
        .join(RunRow, RunRow.id == RecallRow.run_id)
        .where(*period.match_runs(), RecallRow.run_id >= period.first_id)
    )
    return [
        RecallFact(at, run_id, task, _OUTCOMES.get(outcome))
        for at, run_id, task, outcome in await session.execute(told)
    ]


async def _load_dismissed(session: AsyncSession, period: ReportPeriod) -> Sequence[datetime]:
    """When the runs began that posted findings which are dismissed now."""
    wrong = (
        select(RunRow.created_at)
        .select_from(DismissalRow)
        .join(FindingRow, IS_ABOUT)
        .join(RunRow, RunRow.id == FindingRow.posted_by)
        .where(
            DismissalRow.id >= period.first_id,
            *period.match_repositories(DismissalRow.repository_id),
            DismissalRow.undone_at.is_(None),
            *period.match_runs(),
            RunRow.state.in_(FINAL),
        )
    )
    return (await session.scalars(wrong)).all()


async def _load_dismissal_times(session: AsyncSession, period: ReportPeriod) -> Sequence[tuple[datetime, float]]:
    """The time from the posting of a finding's review to its dismissal in the same pull request."""
    posted = and_(OutboxRow.run_id == FindingRow.posted_by, OutboxRow.kind == "review")
    judged = (
        select(DismissalRow.created_at, OutboxRow.done_at)
        .join(FindingRow, IS_ABOUT)
        .join(OutboxRow, posted)
        .where(
            DismissalRow.id >= period.first_id,
            DismissalRow.created_at >= period.since,
            DismissalRow.undone_at.is_(None),
            *period.match_repositories(DismissalRow.repository_id),
        )
    )
    found = await session.execute(judged)
    return [(at, max(0.0, (at - since).total_seconds())) for at, since in found if since is not None]


async def _load_answers(session: AsyncSession, period: ReportPeriod) -> Sequence[tuple[datetime, float]]:
    asked = select(GateRow.decided_at, GateRow.asked_at).where(
        GateRow.id >= period.first_id, GateRow.decided_at >= period.since, GateRow.state.in_(_ANSWERED)
    )
    found = await session.execute(asked.where(*period.match_repositories(GateRow.repository_id)))
    return [(at, max(0.0, (at - since).total_seconds())) for at, since in found if at is not None]
