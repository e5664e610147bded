"""The page of metrics: how well Forge does here week by week, as pictures and as numbers."""

from datetime import timedelta

from bot.dashboard.charts import draw_trend
from bot.dashboard.visit import Page, RepositoryAction, RepositoryPage, Shown, Visit
from domain.metrics import WEEK, Measure, Series, find_end_of_day
from memory.reports import metrics
from messages.metrics import format_value

_TIMES = ((86_400.0, "days"), (3_600.0, "hours"), (60.0, "minutes"), (1.0, "seconds"))
PERIODS = (4, 12, 26)
"""Weeks that can be chosen."""


async def show_metrics(visit: Visit) -> Shown:
    """Every metric over the last weeks; those without any data are only named."""
    chosen = visit.query.get("weeks", "")
    weeks = int(chosen) if chosen in set(map(str, PERIODS)) else 12
    found = await metrics.load_weekly(visit.database, visit.now, weeks, [visit.repository.id])
    today = find_end_of_day(visit.now) - timedelta(days=1)
    ends = [f"{today - WEEK * ago:%m-%d}" for ago in reversed(range(weeks))]
    known = [each for each in found if any(value is not None for value in each.values)]
    shown = {
        "weeks": weeks,
        "periods": PERIODS,
        "ends": ends,
        "known": [_show(each, ends) for each in known],
        "unknown": [each.metric.title for each in found if each not in known],
    }
    return Page("metrics.html", "Metrics", shown)


def _show(series: Series, ends: list[str]) -> dict[str, object]:
    """A metric with its picture and its values as text."""
    metric = series.metric
    one, unit = _choose_unit(series)
    drawn = [None if value is None else round(value / one, 3) for value in series.values]
    return {
        "name": metric.name,
        "title": metric.title,
        "unit": unit,
        "is_told_with_values": metric.measure is Measure.share or metric.unit == "s",
        "picture": draw_trend(unit, ends, drawn, 100 if metric.measure is Measure.share else None),
        "cells": [*zip((format_value(series, value) for value in series.values), series.counts, strict=True)],
        "now": format_value(series, series.now),
    }


def _choose_unit(series: Series) -> tuple[float, str]:
    """How much one is on the axis of a picture, and of what."""
    if series.metric.measure is Measure.share:
        return 0.01, "%"
    if series.metric.unit != "s":
        return 1, series.metric.unit
    longest = max((value for value in series.values if value is not None), default=0)
    return next((each for each in _TIMES if longest >= each[0]), _TIMES[-1])


PAGES = (RepositoryPage("metrics", show_metrics, tab="Metrics"),)
ACTIONS: tuple[RepositoryAction, ...] = ()
