"""Builds the statements of a report: which rows belong to its period, and what the database sums up of them.

They are built once and run with the values of a period: building some takes longer than running them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from functools import lru_cache
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    CompoundSelect,
    Float,
    Integer,
    Select,
    String,
    bindparam,
    case,
    cast,
    func,
    literal,
    select,
)
from sqlalchemy.ext.asyncio import AsyncSession

from domain.runs.metrics import METRICS, Metric, Observation
from domain.value import lowest_id_at
from memory.db.engine import Utc
from memory.db.functions import UtcDay
from memory.db.tables.runs import RunRow

_SLACK = timedelta(days=1)  # between two clocks

SINCE = bindparam("since", type_=Utc(timezone=True))
"""When the period begins."""
UNTIL = bindparam("until", type_=Utc(timezone=True))
"""The moment before which it ends."""
FIRST_ID = bindparam("first_id", type_=String())
"""A lower bound of the ids of the period. Ids begin with their time, so that only its rows are read."""
END_ID = bindparam("end_id", type_=String())
"""An upper bound of the ids of the period."""
_REPOSITORIES = bindparam("repository_ids", type_=BigInteger(), expanding=True)


@dataclass(frozen=True)
class ReportScope:
    """Whether a report is about some repositories, whose ids are values of its statements, or about all."""

    is_of_some: bool

    def match_repositories(self, column: Any) -> tuple[ColumnElement[bool], ...]:
        """Whether a column holds the id of one of the repositories."""
        return (column.in_(_REPOSITORIES),) if self.is_of_some else ()

    def match_time(self, column: Any) -> tuple[ColumnElement[bool], ...]:
        """Whether a column holds a time in the period."""
        return column >= SINCE, column < UNTIL

    def match_runs(self) -> tuple[ColumnElement[bool], ...]:
        """Whether a run began in the period."""
        return (
            RunRow.id >= FIRST_ID,
            RunRow.id < END_ID,
            *self.match_time(RunRow.created_at),
            *self.match_repositories(RunRow.repository_id),
        )

    def select_run_ids(self) -> Any:
        """The ids of the runs that began in the period."""
        return select(RunRow.id).where(*self.match_runs())


@dataclass(frozen=True)
class ReportPeriod:
    """The period of a report.

    :param until: before this moment.
    :param repository_ids: None: all repositories.
    """

    since: datetime
    until: datetime
    repository_ids: Sequence[int] | None = None

    @property
    def scope(self) -> ReportScope:
        return ReportScope(self.repository_ids is not None)

    @property
    def values(self) -> Mapping[str, Any]:
        """What the statements of its scope are run with."""
        return {
            "since": self.since,
            "until": self.until,
            "first_id": lowest_id_at(self.since - _SLACK),
            "end_id": lowest_id_at(self.until + _SLACK),
            "repository_ids": [] if self.repository_ids is None else [*self.repository_ids],
        }


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
