"""The table of what reports keep, because counting it again takes long."""

from typing import Any

from sqlalchemy import JSON
from sqlalchemy.orm import Mapped, mapped_column

from memory.db.engine import TableRow


class MetricDayRow(TableRow):
    """The sums behind the metrics of a repository on a UTC day; see :mod:`memory.reports.metric_days`."""

    __tablename__ = "metric_days"

    repository_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)  # 0: all together
    day: Mapped[str] = mapped_column(primary_key=True)  # in UTC: 2026-01-31
    stamp: Mapped[str]  # of the runs that began on it
    sums: Mapped[dict[str, Any]] = mapped_column(JSON)  # metric → sum of the values, of how many
