"""Says which rows belong to the period of a report: those of runs that began in it, in some repositories or all."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, select

from domain.ids import lowest_id_at
from memory.db.tables.runs import RunRow

_SLACK = timedelta(days=1)  # between two clocks


@dataclass(frozen=True)
class ReportPeriod:
    """The period of a report.

    Ids begin with their time, so that only the rows of the period are read.

    :param until: before this moment.
    :param repository_ids: None: all repositories.
    """

    since: datetime
    until: datetime
    repository_ids: Sequence[int] | None = None

    @property
    def first_id(self) -> str:
        """A lower bound of the ids of the period."""
        return lowest_id_at(self.since - _SLACK)

    @property
    def end_id(self) -> str:
        """An upper bound of the ids of the period."""
        return lowest_id_at(self.until + _SLACK)

    def match_repositories(self, column: Any) -> tuple[ColumnElement[bool], ...]:
        """Whether a column holds the id of one of the repositories."""
        return () if self.repository_ids is None else (column.in_(self.repository_ids),)

    def match_time(self, column: Any) -> tuple[ColumnElement[bool], ...]:
        """Whether a column holds a time in the period."""
        return column >= self.since, column < self.until

    def match_runs(self) -> tuple[ColumnElement[bool], ...]:
        """Whether a run began in the period."""
        return (
            RunRow.id >= self.first_id,
            RunRow.id < self.end_id,
            *self.match_time(RunRow.created_at),
            *self.match_repositories(RunRow.repository_id),
        )

    def select_run_ids(self) -> Any:
        """The ids of the runs that began in the period."""
        return select(RunRow.id).where(*self.match_runs())
