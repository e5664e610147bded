"""Keeps the sums behind the metrics for each UTC day that is over, so that reports need not count them again.

A day is kept with a stamp of its runs: how many there are, how many are over, when the last one ended. A run that ends,
or ends again, changes the stamp; then the day is counted anew. Nothing else writes here, so a crash loses nothing, and
a day that is missing, or that an older version passed by, is counted where it is asked for.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import cache

from sqlalchemy import Select, delete, func, select
from sqlalchemy.ext.asyncio import AsyncSession

from domain.errors import DatabaseUnavailable
from domain.runs.metrics import Observation, Sums, fold, unfold
from memory.db.engine import Database, upsert
from memory.db.functions import UtcDay
from memory.db.tables.runs import MetricDayRow, RunRow
from memory.reports.metric_facts import FINAL, ReportPeriod, ReportScope, count_if, load_settled

ALL = 0
"""Instead of the id of a repository: all of them."""
_DAY = timedelta(days=1)
_REST = timedelta(hours=1)
"""How long nothing may have ended in a day that is kept: a call of a model is settled after its run was cancelled."""
_VERSION = 1
"""Of what is counted; kept days of another version are counted anew."""
_GAP = 3  # days that are counted again rather than asked for in two parts


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


async def load_observations(
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
