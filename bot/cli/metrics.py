"""`forge metrics`: shows how well Forge does week by week, with the trend."""

import json
from collections.abc import Sequence
from datetime import datetime

from rich.table import Column, Table

from bot.cli import lookup
from bot.cli.output import output
from bot.clock import SystemClock
from bot.current_database import open_database
from bot.settings import Installation
from domain.metrics import WEEK, Series, find_end_of_day, render_trend
from memory.reports import metrics
from messages.metrics import UNKNOWN, format_value


async def show(settings: Installation, repository: str | None, weeks: int, *, as_json: bool) -> None:
    """Print every metric of the last weeks.

    :raises UnknownName: if Forge never ran in the repository.
    """
    now = SystemClock().now()
    async with open_database(settings) as database:
        ids = None if repository is None else await lookup.find_repositories(database, repository)
        found = await metrics.load_weekly(database, now, weeks, ids)
    with output() as console:
        if as_json:
            console.file.write(json.dumps(to_json(found, now), indent=2) + "\n")
            return
        console.print(_table(found))
        console.print(f"{weeks} weeks of seven days (UTC), the last ending today; {UNKNOWN}: no data.")


def to_json(found: Sequence[Series], now: datetime) -> list[dict[str, object]]:
    """The metrics for programs: one value per week, null without data."""
    return [
        {
            "metric": each.metric.name,
            "measure": each.metric.measure.value,
            "unit": each.metric.unit,
            "weeks_end": [(find_end_of_day(now) - WEEK * ago).isoformat() for ago in reversed(range(len(each.values)))],
            "values": [None if value is None else round(value, 4) for value in each.values],
            "counts": [*each.counts],
        }
        for each in found
    ]


def _table(found: Sequence[Series]) -> Table:
    right = [Column(name, justify="right", no_wrap=True) for name in ("this week", "of", "week before")]
    table = Table(Column("metric", no_wrap=True), *right, Column("trend", no_wrap=True), box=None)
    for each in found:
        before = each.values[-2] if len(each.values) > 1 else None
        unit = f", {each.metric.unit}" if each.metric.unit not in ("", "s") else ""
        of = str(each.counts[-1]) if each.counts[-1] else ""
        table.add_row(
            f"{each.metric.title}{unit}",
            format_value(each, each.now),
            of,
            format_value(each, before),
            render_trend(each.values),
        )
    return table
