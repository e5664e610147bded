"""Computes the metrics of a period from ledger, runs, spend, findings, gates and memories.

Most of it stays as it is once a day is over and is kept day by day (:mod:`memory.reports.metric_days`). The rest, which
people or agents may still change, is few and read anew.
"""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import chain

from sqlalchemy import and_, case, func, select
from sqlalchemy.ext.asyncio import AsyncSession

from domain.gates import GateState
from domain.metrics import WEEK, Facts, Observation, Series, build_series, find_end_of_day, observe
from memory.db.engine import Database
from memory.db.functions import SecondsBetween, UtcDay
from memory.db.tables.findings import DismissalRow, FindingRow
from memory.db.tables.gates import GateRow
from memory.db.tables.learned import MemoryRow, RecallRow
from memory.db.tables.runs import OutboxRow, RunRow
from memory.findings.dismissals import IS_ABOUT
from memory.reports import avoidance_facts, metric_days, recoveries, retention
from memory.reports.periods import ReportPeriod, find_noon
from memory.reports.settled_facts import FINAL

_ANSWERED = [GateState.approved.value, GateState.rejected.value]
_KNOWN = ["helped", "ignored"]  # outcomes of a recall


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
    settled, moving = await asyncio.gather(  # the database does both at a time
        _observe_settled(database, repository_ids, since, now),
        _observe_moving(database, ReportPeriod(since, end, repository_ids)),
    )
    return build_series(chain(settled, moving), end, weeks, whole)


async def _observe_settled(
    database: Database, repository_ids: Sequence[int] | None, since: datetime, now: datetime
) -> Iterator[Observation]:
    scopes = [None] if repository_ids is None else repository_ids
    return chain(*[await metric_days.load_observations(database, each, since, now) for each in scopes])


async def _observe_moving(database: Database, period: ReportPeriod) -> Iterator[Observation]:
    async with database.transaction() as session:
        return observe(await load_moving(session, period))


async def load_moving(session: AsyncSession, period: ReportPeriod) -> Facts:
    """What happened in a period and may become other than it is, in the caller's transaction."""
    since, repository_ids = period.since, period.repository_ids
    recalls, dismissals = await _load_recalls(session, period), await _load_dismissals(session, period)
    return Facts(
        learned=await _load_learned(session, period),
        told=[(each.at, each.helped, each.told) for each in recalls],
        applied=[(each.at, each.helped_tasks, each.tasks) for each in recalls],
        posted=[(each.raised_at, 1, 0) for each in dismissals if each.is_counted and each.raised_at >= period.since],
        dismissed=[(each.at, each.seconds) for each in dismissals if each.seconds is not None],
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


@dataclass(frozen=True)
class _RecallDay:
    """The memories that were told to the runs of a day, if it is known what they were worth.

    :param tasks: that were told any.
    """

    at: datetime
    helped: int
    told: int
    helped_tasks: int
    tasks: int


async def _load_recalls(session: AsyncSession, period: ReportPeriod) -> Sequence[_RecallDay]:
    helped = func.sum(case((RecallRow.outcome == "helped", 1), else_=0))
    by_task = (
        select(UtcDay(RunRow.created_at).label("day"), helped.label("helped"), func.count().label("told"))
        .join(RunRow, RunRow.id == RecallRow.run_id)
        .where(*period.match_runs(), RecallRow.run_id >= period.first_id, RecallRow.outcome.in_(_KNOWN))
        .group_by(RecallRow.run_id, RecallRow.task, RunRow.created_at)
        .subquery()
        .c
    )
    helped_tasks = func.sum(case((by_task.helped > 0, 1), else_=0))
    by_day = select(by_task.day, func.sum(by_task.helped), func.sum(by_task.told), helped_tasks, func.count())
    found = await session.execute(by_day.group_by(by_task.day))
    return [_RecallDay(find_noon(day), *map(int, counts)) for day, *counts in found]


@dataclass(frozen=True)
class _Dismissal:
    """A finding that is dismissed now.

    :param at: the day.
    :param raised_at: the day on which the run began that posted it.
    :param is_counted: whether that run is over, so that what it posted counts.
    :param seconds: from its review to its dismissal; None: the review did not get to GitHub.
    """

    at: datetime
    raised_at: datetime
    is_counted: bool
    seconds: float | None


async def _load_dismissals(session: AsyncSession, period: ReportPeriod) -> Sequence[_Dismissal]:
    """Those of a period. They come after the runs, so these are also all those of its runs' findings."""
    review = and_(OutboxRow.run_id == RunRow.id, OutboxRow.step == "review", OutboxRow.kind == "review")
    dismissed = (
        select(
            UtcDay(DismissalRow.created_at),
            UtcDay(RunRow.created_at),
            RunRow.state,
            SecondsBetween(OutboxRow.done_at, DismissalRow.created_at),
        )
        .join(FindingRow, IS_ABOUT)
        .join(RunRow, RunRow.id == FindingRow.posted_by)
        .outerjoin(OutboxRow, review)
        .where(
            DismissalRow.id >= period.first_id,
            DismissalRow.created_at >= period.since,
            DismissalRow.undone_at.is_(None),
            *period.match_repositories(DismissalRow.repository_id),
        )
    )
    return [
        _Dismissal(find_noon(day), find_noon(raised), state in FINAL, None if seconds is None else max(0.0, seconds))
        for day, raised, state, seconds in await session.execute(dismissed)
    ]


async def _load_answers(session: AsyncSession, period: ReportPeriod) -> Sequence[tuple[datetime, float]]:
    asked = select(UtcDay(GateRow.decided_at), SecondsBetween(GateRow.asked_at, GateRow.decided_at)).where(
        GateRow.decided_at >= period.since, GateRow.state.in_(_ANSWERED)
    )
    found = await session.execute(asked.where(*period.match_repositories(GateRow.repository_id)))
    return [(find_noon(day), max(0.0, seconds)) for day, seconds in found]
