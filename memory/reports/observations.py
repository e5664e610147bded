"""Reads what counts for the metrics, summed up by the database, in one statement: sending many takes longer."""

from collections.abc import Sequence
from datetime import UTC, datetime, time
from functools import lru_cache
from typing import Any

from sqlalchemy import ColumnElement, CompoundSelect, Float, Integer, Select, case, cast, func, literal, select
from sqlalchemy.ext.asyncio import AsyncSession

from domain.metrics import METRICS, Metric, Observation
from memory.db.functions import UtcDay
from memory.reports.periods import ReportPeriod

Observed = Select[str, Any, Any, int]
"""Finds observations: name of the metric, UTC day, value, of how many."""
AllObserved = CompoundSelect[str, Any, Any, int]
"""Several of these in one statement."""
_BY_NAME = {metric.name: metric for metric in METRICS}
_DAYS = 1_024  # that are kept as times


def sum_by_day(metric: Metric, at: Any, value: Any = 1, of: Any = 1) -> Observed:
    """One observation for each day: the sum of the rows on it. The caller adds where these are.

    :param at: the column that says when a row counts.
    :param value: of a row.
    :param of: how many a row counts for.
    """
    day = UtcDay(at)
    return _name(metric, day, func.sum(value), func.sum(of)).group_by(day)


def list_each(metric: Metric, day: Any, value: Any) -> Observed:
    """One observation for each row, as medians need it.

    :param day: a :class:`UtcDay`, or the column of a subquery that has one.
    """
    return _name(metric, day, value, literal(1))


def count_if(condition: ColumnElement[bool]) -> ColumnElement[int]:
    """1 where something is so, else 0, also where it is not known."""
    return case((condition, 1), else_=0)


async def load_observations(
    session: AsyncSession, observed: AllObserved, period: ReportPeriod
) -> Sequence[Observation]:
    """All that these find in a period. Nothing lasts less than no time: clocks differ."""
    found = await session.execute(observed, period.values)
    return [Observation(_BY_NAME[name], _find_noon(day), max(0.0, value), of) for name, day, value, of in found]


def _name(metric: Metric, day: Any, value: Any, of: Any) -> Observed:
    return select(literal(metric.name), day, cast(value, Float), cast(of, Integer))


@lru_cache(_DAYS)
def _find_noon(day: str) -> datetime:
    return datetime.combine(datetime.fromisoformat(day), time(12), UTC)
