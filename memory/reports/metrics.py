"""Computes the metrics of a period, and reads the state that gauges show.

Most of what happened stays as it is once a day is over and is kept day by day (:mod:`memory.reports.metric_days`). The
rest, which people or agents may still change, is few and read anew.
"""

import asyncio
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from itertools import chain

from sqlalchemy import and_, func, select, union_all
from sqlalchemy.ext.asyncio import AsyncSession

from domain.gates import GateState
from domain.runs.metrics import (
    APPLICATION,
    DISMISSAL,
    LEARNINGS,
    PRECISION,
    RESPONSE,
    TO_DISMISSAL,
    WEEK,
    Facts,
    Observation,
    Series,
    build_series,
    find_end_of_day,
    observe,
)
from domain.verdicts import BreakerState
from memory.db.engine import Database
from memory.db.functions import SecondsBetween, UtcDay
from memory.db.tables.repositories import (
    EVERYWHERE,
    FeedbackRow,
    FindingRow,
    GateRow,
    MemoryRow,
    RecallRow,
    RepositoryRow,
    is_dismissal,
)
from memory.db.tables.runs import CircuitRow, OutboxRow, RunRow
from memory.learned.feedback import IS_ABOUT
from memory.reports import metric_days, metric_facts, retention
from memory.reports.metric_facts import (
    FINAL,
    FIRST_ID,
    SINCE,
    AllObserved,
    Observed,
    ReportPeriod,
    ReportScope,
    count_if,
    list_each,
    load_observations,
    sum_by_day,
)

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


async def _observe_moving(database: Database, period: ReportPeriod) -> Sequence[Observation]:
    async with database.transaction() as session:
        return await load_moving(session, period)


async def load_moving(session: AsyncSession, period: ReportPeriod) -> Sequence[Observation]:
    """What happened in a period and may become other than it is, in the caller's transaction."""
    troubles = await metric_facts.load_troubles(session, period.since, period.repository_ids)
    return [*observe(Facts(troubles=troubles)), *await load_observations(session, _build_moving(period.scope), period)]


@cache
def _build_moving(scope: ReportScope) -> AllObserved:
    return union_all(
        _sum_learned(scope),
        *_sum_recalls(scope),
        *_find_dismissals(scope),
        _list_answers(scope),
        metric_facts.sum_false_alarms(scope),
        metric_facts.sum_judged(scope),
        metric_facts.sum_let_pass(scope),
        metric_facts.sum_destructive(scope),
        metric_facts.sum_alternatives(scope),
    )


def _sum_learned(scope: ReportScope) -> Observed:
    """Memories that were learned. Pinned ones are left out, because people stated them."""
    return sum_by_day(LEARNINGS, MemoryRow.created_at, of=0).where(
        MemoryRow.id >= FIRST_ID,
        MemoryRow.created_at >= SINCE,
        MemoryRow.pinned.is_(False),
        *scope.match_repositories(MemoryRow.repository_id),
    )


def _sum_recalls(scope: ReportScope) -> Sequence[Observed]:
    """Of memories told to tasks, if it is known what they were worth, how many helped; of these tasks, how many any."""
    helped = func.sum(count_if(RecallRow.outcome == "helped"))
    task = (
        select(RunRow.created_at, helped.label("helped"), func.count().label("told"))
        .join(RunRow, RunRow.id == RecallRow.run_id)
        .where(*scope.match_runs(), RecallRow.run_id >= FIRST_ID, RecallRow.outcome.in_(_KNOWN))
        .group_by(RecallRow.run_id, RecallRow.task, RunRow.created_at)
        .cte("task")
        .c
    )
    return [
        sum_by_day(PRECISION, task.created_at, task.helped, task.told),
        sum_by_day(APPLICATION, task.created_at, count_if(task.helped > 0)),
    ]


def _find_dismissals(scope: ReportScope) -> Sequence[Observed]:
    """Findings that are dismissed now, on the day of their run if it is over, and the time from review to dismissal.

    Those of a period: they come after the runs, so these are also all those of its runs' findings.
    """
    review = and_(OutboxRow.run_id == RunRow.id, OutboxRow.step == "review", OutboxRow.kind == "review")
    dismissed = (
        select(
            UtcDay(FeedbackRow.created_at).label("day"),
            RunRow.created_at.label("raised_at"),
            RunRow.state,
            SecondsBetween(OutboxRow.done_at, FeedbackRow.created_at).label("seconds"),
        )
        .join(FindingRow, IS_ABOUT)
        .join(RunRow, RunRow.id == FindingRow.posted_by)
        .outerjoin(OutboxRow, review)
        .where(
            FeedbackRow.id >= FIRST_ID,
            FeedbackRow.created_at >= SINCE,
            is_dismissal(),
            *scope.match_repositories(FeedbackRow.repository_id),
        )
        .cte("dismissed")
        .c
    )
    return [
        sum_by_day(DISMISSAL, dismissed.raised_at, of=0).where(
            dismissed.raised_at >= SINCE, dismissed.state.in_(FINAL)
        ),
        list_each(TO_DISMISSAL, dismissed.day, dismissed.seconds).where(dismissed.seconds.is_not(None)),
    ]


def _list_answers(scope: ReportScope) -> Observed:
    seconds = SecondsBetween(GateRow.asked_at, GateRow.decided_at)
    return list_each(RESPONSE, UtcDay(GateRow.decided_at), seconds).where(
        GateRow.decided_at >= SINCE,
        GateRow.state.in_(_ANSWERED),
        *scope.match_repositories(GateRow.repository_id),
    )


@dataclass(frozen=True)
class SystemSnapshot:
    """How many there are of each.

    :param circuits: error-rate breakers by state; one that was always closed is not stored.
    :param waiting: gates by name.
    :param levels: repositories by level, only those that left level 1 at least once.
    """

    circuits: Counter[str]
    waiting: Counter[str]
    levels: Counter[int]
    is_halted: bool


async def load_snapshot(database: Database) -> SystemSnapshot:
    """The present counts."""
    state = CircuitRow.circuit["state"].as_string()
    waiting = select(GateRow.name, func.count()).where(GateRow.state == GateState.waiting.value).group_by(GateRow.name)
    async with database.transaction() as session:
        circuits = (await session.execute(select(state, func.count()).group_by(state))).all()
        gates = (await session.execute(waiting)).all()
        levels = (await session.execute(select(RepositoryRow.level, func.count()).group_by(RepositoryRow.level))).all()
        everywhere = await session.get(RepositoryRow, EVERYWHERE)
        return SystemSnapshot(
            circuits=Counter({str(name or BreakerState.closed.value): count for name, count in circuits}),
            waiting=Counter({row[0]: row[1] for row in gates}),
            levels=Counter({level: count for level, count in levels if level is not None}),
            is_halted=everywhere is not None and everywhere.paused_since is not None,
        )
