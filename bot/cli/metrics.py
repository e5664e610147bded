"""`forge metrics`: shows how well Forge does week by week, and how often each detector was wrong."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Annotated

import typer
from pydantic import JsonValue

from bot.cli import lookup
from bot.cli.output import print_json, print_lines, print_table
from bot.cli.process import command
from bot.clock import SystemClock
from bot.current_database import open_database
from bot.settings import Installation
from domain.review.avoidance import MEMORY_DAYS, DetectorRecord
from domain.review.feedback import DismissalScope, FindingFeedback
from domain.runs.metrics import WEEK, Series, find_end_of_day, render_trend
from domain.text.escaping import flatten_redacted
from memory import findings
from memory.learned import feedback
from memory.reports import metrics
from messages.audit import UNKNOWN, format_value

commands = typer.Typer(add_completion=False, rich_markup_mode=None)


@command(commands, "metrics")
async def show(
    settings: Installation,
    repository: Annotated[str | None, typer.Option(metavar="OWNER/NAME", help="Only this repository.")] = None,
    weeks: Annotated[int, typer.Option(min=1, max=52, help="How many weeks.")] = 12,
    as_json: Annotated[bool, typer.Option("--json", help="Print every week as JSON.")] = False,
    detectors: Annotated[
        bool, typer.Option(help="Show how often each detector of giving up was wrong, and what may pass here.")
    ] = False,
) -> None:
    """Show how well Forge does week by week: success, cost, iterations, dismissals and overrides.

    :raises UnknownName: if Forge never ran in the repository.
    """
    if detectors:
        await show_detectors(settings, repository, as_json=as_json)
        return
    now = SystemClock().now()
    async with open_database(settings) as database:
        ids = None if repository is None else await lookup.find_repositories(database, repository)
        found = await metrics.load_weekly(database, now, weeks, ids)
    if as_json:
        print_json(to_json(found, now))
        return
    print_table(
        ("metric", "this week", "of", "week before", "trend"),
        map(_list_metric, found),
        ("this week", "of", "week before"),
    )
    print_lines(f"{weeks} weeks of seven days (UTC), the last ending today; {UNKNOWN}: no data.")


def _list_metric(series: Series) -> Sequence[str]:
    unit = f", {series.metric.unit}" if series.metric.unit not in ("", "s") else ""
    return (
        f"{series.metric.title}{unit}",
        format_value(series, series.now),
        str(series.counts[-1] or ""),
        format_value(series, series.values[-2] if len(series.values) > 1 else None),
        render_trend(series.values),
    )


def to_json(found: Sequence[Series], now: datetime) -> list[JsonValue]:
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


async def show_detectors(settings: Installation, repository: str | None, *, as_json: bool) -> None:
    """Print what the detectors found, how much of it was wrong, and what passes for a time.

    :param repository: the only one that counts; what passes is shown of one only.
    :raises UnknownName: if Forge never ran in the repository.
    """
    now = SystemClock().now()
    since = now - timedelta(days=MEMORY_DAYS)
    listed: list[FindingFeedback] = []
    async with open_database(settings) as database:
        ids: Sequence[int] = ()
        if repository is not None:
            ids = await lookup.find_repositories(database, repository)
        records = await findings.load_detector_records(database, ids[0] if ids else None, since)
        for each in ids:
            listed += [one for one in await feedback.list_with_scope(database, each) if one.find_lapse(now) is None]
    if as_json:
        print_json(detectors_to_json(records, listed))
        return
    names = ("detector", "found", "dismissed", "confirmed", "wrong")
    print_table(names, [_list_detector(*each) for each in sorted(records.items())], names[1:4])
    print_lines(
        f"{MEMORY_DAYS} days. A detector is wrong too often where more than a tenth is dismissed (of 20).",
        *map(_describe, listed),
    )


def _list_detector(rule: str, record: DetectorRecord) -> Sequence[str]:
    numbers = (record.found, record.dismissed, record.confirmed)
    return (rule, *map(str, numbers), "too often" if record.is_unreliable else "")


def detectors_to_json(records: Mapping[str, DetectorRecord], listed: Sequence[FindingFeedback]) -> dict[str, JsonValue]:
    """The same for programs."""
    return {
        "detectors": [
            {
                "rule": rule,
                "found": record.found,
                "dismissed": record.dismissed,
                "confirmed": record.confirmed,
                "unreliable": record.is_unreliable,
            }
            for rule, record in sorted(records.items())
        ],
        "passing": [
            {
                "rule": each.rule,
                "path": each.path if each.scope is DismissalScope.file else "",
                "until": None if each.until is None else each.until.isoformat(),
                "by": each.by,
                "reason": each.reason,
            }
            for each in listed
        ],
    }


def _describe(listed: FindingFeedback) -> str:
    where = listed.path if listed.scope is DismissalScope.file else "the whole repository"
    until = "" if listed.until is None else f" until {listed.until:%Y-%m-%d}"
    text = f"{listed.rule} may pass in {where}{until}, by {listed.by}: {listed.reason}"
    return flatten_redacted(text)
