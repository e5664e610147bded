"""Says which rows belong to the period of a report: those of runs that began in it, in some repositories or all.

Its statements are built once and run with the values of a period: building some takes longer than running them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import BigInteger, ColumnElement, String, bindparam, select

from domain.ids import lowest_id_at
from memory.db.engine import Utc
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
