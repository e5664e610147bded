"""Computes the metrics of a period, and reads the state that gauges show.

Most of what happened stays as it is once a day is over: its sums are kept, so that reports need not count it again. The
rest, which people or agents may still change, is few and read anew.

A day is kept with a stamp of its runs: how many there are, how many are over, when the last one ended. A run that ends,
or ends again, changes the stamp; then the day is counted anew. Nothing else writes here, so a crash loses nothing, and
a day that is missing is counted where it is asked for.
"""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import cache
from itertools import chain

from sqlalchemy import Select, and_, delete, func, select, union_all
from sqlalchemy.ext.asyncio import AsyncSession

from domain.errors import DatabaseUnavailable
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
    Sums,
    build_series,
    find_end_of_day,
    fold,
    observe,
    unfold,
)
from domain.verdicts import BreakerState
from memory.db.engine import Database, upsert
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
from memory.db.tables.runs import CircuitRow, MetricDayRow, OutboxRow, RunRow
from memory.learned.feedback import IS_ABOUT
from memory.reports import metric_facts, retention
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
    load_settled,
    sum_by_day,
)

_ANSWERED = [GateState.approved.value, GateState.rejected.value]
_KNOWN = ["helped", "ignored"]  # outcomes of a recall


ALL = 0
"""Instead of the id of a repository: all of them."""
_DAY = timedelta(days=1)
_REST = timedelta(hours=1)
"""How long nothing may have ended in a day that is kept: a call of a model is settled after its run was cancelled."""
_VERSION = 1
"""Of what is counted; kept days of another version are counted anew."""
_GAP = 3  # days that are counted again rather than asked for in two parts


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
    return chain(*[await load_days(database, each, since, now) for each in scopes])


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


@dataclass(frozen=True)
class DayStamp:
    """What tells whether the runs of a day are as they were.

    :param last: when the last of them ended.
    """

    runs: int = 0
    over: int = 0
    last: datetime | None = None

    def __str__(self) -> str:
        return f"{_VERSION}/{self.runs}/{self.over}/{self.last.isoformat() if self.last else ''}"


async def load_days(
    database: Database, repository_id: int | None, since: datetime, now: datetime
) -> Iterator[Observation]:
    """What happened in a repository up to the end of this UTC day, summed up for each day.

    :param repository_id: None: in all repositories together.
    :param since: of a day that begins before it, only what is after it counts, and is not kept.
    """
    scope = ALL if repository_id is None else repository_id
    today = now.astimezone(UTC).date()
    days = [since.date() + _DAY * place for place in range((today - since.date()).days + 1)]
    ids = None if repository_id is None else [repository_id]
    async with database.transaction() as session:
        stamps = await _load_stamps(session, ReportPeriod(since, _begin(today + _DAY), ids))
        known = await _load_kept(session, scope, days, stamps)
        counted: dict[date, Sums] = {}
        for first, last in _join_days(day for day in days if day not in known):
            period = ReportPeriod(max(since, _begin(first)), _begin(last + _DAY), ids)
            counted |= _split(await load_settled(session, period), first, last)
    await _keep(database, scope, stamps, {day: sums for day, sums in counted.items() if _begin(day) >= since}, now)
    return (each for day, sums in (known | counted).items() for each in unfold(sums, _begin(day) + _DAY / 2))


async def remove_old(database: Database, until: datetime) -> int:
    """Remove the sums of days that nobody is told of any more; returns how many. One too many is counted again."""
    old = delete(MetricDayRow).where(MetricDayRow.day < until.astimezone(UTC).date().isoformat())
    return len(await database.rows(old.returning(MetricDayRow.day)))


def _begin(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)


@cache
def _build_stamps(scope: ReportScope) -> Select[str, int, int, datetime | None]:
    day, over = UtcDay(RunRow.created_at), func.sum(count_if(RunRow.state.in_(FINAL)))
    return select(day, func.count(), over, func.max(RunRow.finished_at)).where(*scope.match_runs()).group_by(day)


async def _load_kept(
    session: AsyncSession, scope: int, days: Sequence[date], stamps: Mapping[date, DayStamp]
) -> dict[date, Sums]:
    """The kept days whose runs are as they were."""
    between = MetricDayRow.day >= days[0].isoformat(), MetricDayRow.day <= days[-1].isoformat()
    kept = select(MetricDayRow.day, MetricDayRow.stamp, MetricDayRow.sums)
    rows = await session.execute(kept.where(MetricDayRow.repository_id == scope, *between))
    found = {date.fromisoformat(day): (stamp, sums) for day, stamp, sums in rows}
    return {
        day: {name: (value, int(of)) for name, (value, of) in sums.items()}
        for day, (stamp, sums) in found.items()
        if stamp == str(stamps.get(day, DayStamp()))
    }


async def _load_stamps(session: AsyncSession, period: ReportPeriod) -> Mapping[date, DayStamp]:
    rows = await session.execute(_build_stamps(period.scope), period.values)
    return {date.fromisoformat(found): DayStamp(runs, int(ended), last) for found, runs, ended, last in rows}


def _join_days(days: Iterable[date]) -> Sequence[tuple[date, date]]:
    """The first and the last day of each part that is counted in one go."""
    parts: list[tuple[date, date]] = []
    for day in days:
        if parts and (day - parts[-1][1]).days <= _GAP:
            parts[-1] = parts[-1][0], day
        else:
            parts.append((day, day))
    return parts


def _split(observations: Iterable[Observation], first: date, last: date) -> Mapping[date, Sums]:
    """The sums of each day, also of those on which nothing happened."""
    by_day: defaultdict[date, list[Observation]] = defaultdict(list)
    for each in observations:
        by_day[each.at.astimezone(UTC).date()].append(each)
    return {day: fold(by_day[day]) for day in (first + _DAY * place for place in range((last - first).days + 1))}


async def _keep(
    database: Database, scope: int, stamps: Mapping[date, DayStamp], counted: Mapping[date, Sums], now: datetime
) -> None:
    """Keep the days that are over. Where they cannot be stored, they are counted again next time."""
    settled = {day: sums for day, sums in counted.items() if _is_settled(day, stamps.get(day, DayStamp()), now)}
    if not settled:
        return
    try:
        async with database.transaction() as session:
            for day, sums in settled.items():
                values = {"stamp": str(stamps.get(day, DayStamp())), "sums": {name: [*of] for name, of in sums.items()}}
                key = {"repository_id": scope, "day": day.isoformat()}
                await session.execute(upsert(database.dialect, MetricDayRow, {**key, **values}, {}))
    except DatabaseUnavailable:
        return


def _is_settled(day: date, stamp: DayStamp, now: datetime) -> bool:
    return max(_begin(day + _DAY), stamp.last or _begin(day)) + _REST <= now
