"""The pages of figures, with pictures of them: costs with budgets and breakers, metrics, and deployments."""

import base64
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cache, lru_cache, partial
from typing import Any

from bot.dashboard.visit import Page, Shown, Visit
from domain.money import MICRO
from domain.runs.metrics import WEEK, Measure, Series, find_end_of_day
from domain.verdicts import BreakerState
from memory import reservations
from memory.deployments import deployments
from memory.reports import costs, metrics
from memory.reports.costs import RunCost
from memory.repositories import budgets
from messages.audit import format_value
from pipeline.config import loading
from pipeline.publishing.instructions import name_runs
from safety.call_admission import cap_limits, limits_of

_KEPT = 1024  # pictures; each is some ten kilobytes
_LIGHT, _DARK = ("#59636e", "#0969da"), ("#9198a1", "#4493f8")  # of text and axes, of what is shown
_RULES = "{rules}"
_UNUSED = frozenset({"script", "desc", "title"})
_SHORT = {"%": " %", "days": " d", "hours": " h", "minutes": " min", "seconds": " s", "USD": " USD"}
_COMMON: dict[str, Any] = {
    "js": [],
    "show_legend": False,
    "margin": 6,
    "pretty_print": False,
    "disable_xml_declaration": True,
    "explicit_size": True,
    "no_data_text": "",
    "y_labels_major_count": 3,
    "show_minor_y_labels": False,
    "show_minor_x_labels": False,
    "truncate_label": -1,
    "dots_size": 2,
    "allow_interruptions": True,
}


DAYS = (7, 30, 90)
"""Days that can be chosen."""
WORKING = 20
"""Runs at work whose budgets are shown."""
_STATES = {
    BreakerState.closed: "It is asked",
    BreakerState.open: "It is not asked",
    BreakerState.half_open: "One call is tried",
}


@dataclass(frozen=True)
class BudgetShown:
    """A budget and its use, in micro-USD.

    :param address: of its run; empty: it is the repository's.
    :param used: what is settled.
    """

    name: str
    address: str
    used: int
    reserved: int
    limit: int

    @property
    def remainder(self) -> int:
        return max(0, self.limit - self.used - self.reserved)


async def show_costs(visit: Visit) -> Shown:
    """What models cost here, and what may still be spent."""
    chosen = visit.query.get("days", "")
    days = int(chosen) if chosen in set(map(str, DAYS)) else 30
    since = visit.now - timedelta(days=days - 1)
    spent = await costs.load_costs(visit.database, visit.repository.id, since)
    breakers = await budgets.list_circuits(visit.database, visit.repository.id)
    by_day = {each.name: each.spent.amount / MICRO for each in spent.days}
    names = [(since + timedelta(days=ago)).date().isoformat() for ago in range(days)]
    shown = {
        "days": days,
        "periods": DAYS,
        "spent": spent,
        "picture": draw_bars("USD", names, [round(by_day.get(each, 0.0), 4) for each in names]) if by_day else "",
        "groups": [("day (UTC)", spent.days), ("phase", spent.phases), ("model", spent.models)],
        "runs": await _name_runs(visit, spent.runs),
        "budgets": await _list_budgets(visit),
        "breakers": [(name, each, _STATES[each.state]) for name, each in breakers.items()],
    }
    return Page("costs.html", "Costs", shown)


async def _name_runs(visit: Visit, listed: Sequence[RunCost]) -> Sequence[tuple[str, str, RunCost]]:
    named = await name_runs(visit.database, [each.run for each in listed])
    return [
        (f"{named[each.run.id]} of #{each.run.number}", visit.address("runs", each.run.id), each) for each in listed
    ]


async def _list_budgets(visit: Visit) -> Sequence[BudgetShown]:
    """The budget of this day, and those of the runs at work; limits as last configured, capped by the operator's."""
    ceilings = visit.services.ceilings
    configured = await loading.load_stored(visit.database, visit.repository, ceilings.of_configuration)
    limits = cap_limits(limits_of(configured.budgets), ceilings)
    today = await reservations.sum_repository(visit.database, visit.repository.id, visit.now)
    day = BudgetShown("this day (UTC)", "", today.amount - today.reserved, today.reserved, limits.day)
    found = [day]
    working = await costs.list_working(visit.database, visit.repository.id, WORKING)
    for name, address, cost in await _name_runs(visit, working):
        used = cost.spent.amount - cost.spent.reserved
        found.append(BudgetShown(name, address, used, cost.spent.reserved, limits.run))
    return found


_TIMES = ((86_400.0, "days"), (3_600.0, "hours"), (60.0, "minutes"), (1.0, "seconds"))
WEEKS = (4, 12, 26)
"""Weeks that can be chosen."""


async def show_metrics(visit: Visit) -> Shown:
    """Every metric over the last weeks; those without any data are only named."""
    chosen = visit.query.get("weeks", "")
    weeks = int(chosen) if chosen in set(map(str, WEEKS)) else 12
    found = await metrics.load_weekly(visit.database, visit.now, weeks, [visit.repository.id])
    today = find_end_of_day(visit.now) - timedelta(days=1)
    ends = [f"{today - WEEK * ago:%m-%d}" for ago in reversed(range(weeks))]
    known = [each for each in found if any(value is not None for value in each.values)]
    shown = {
        "weeks": weeks,
        "periods": WEEKS,
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


DEPLOYMENTS = 50
"""Deployments on the page, the newest ones."""


async def list_deployments(visit: Visit) -> Shown:
    """The deployments of a repository."""
    past = await deployments.list_past(visit.database, visit.repository.id, DEPLOYMENTS)
    shown = {
        "running": await deployments.list_there(visit.database, visit.repository.id),
        "past": past,
        "most": DEPLOYMENTS,
    }
    return Page("deployments.html", "Deployments", shown)


@dataclass(frozen=True)
class Picture:
    """A picture as two ``data:`` addresses."""

    light: str
    dark: str
    width: int
    height: int


@dataclass(frozen=True)
class _Chart:
    """What is drawn.

    :param kind: a class of pygal.
    :param top: the end of the scale; None: the highest value.
    """

    kind: str
    name: str
    labels: tuple[str, ...]
    values: tuple[float | None, ...]
    width: int
    height: int
    top: float | None = None


def draw_bars(name: str, labels: Sequence[str], values: Sequence[float]) -> Picture:
    """Bars, one for each label.

    :param name: the unit, which the numbers beside it carry.
    """
    return _draw(_Chart("Bar", name, tuple(labels), tuple(values), 720, 180))


def draw_trend(name: str, labels: Sequence[str], values: Sequence[float | None], top: float | None = None) -> Picture:
    """A line from the oldest value to the newest, with gaps where nothing is known.

    :param name: the unit; the numbers beside it carry it if it is short.
    :param top: the end of the scale; None: the highest value.
    """
    return _draw(_Chart("Line", name, tuple(labels), tuple(values), 300, 110, top))


@lru_cache(_KEPT)
def _draw(asked: _Chart) -> Picture:
    drawn = _render(asked)
    light, dark = (_build_address(drawn.replace(_RULES, _write_style(*ink))) for ink in (_LIGHT, _DARK))
    return Picture(light, dark, asked.width, asked.height)


@cache
def _load_pygal() -> Any:
    """pygal takes megabytes, so it is loaded once somebody looks at a picture.

    That adds a finder for its maps to all imports of the process, in a protocol that Python gave up.
    """
    import pygal

    sys.meta_path[:] = [each for each in sys.meta_path if not isinstance(each, pygal.PluginImportFixer)]
    return pygal


def _render(asked: _Chart) -> str:
    """The picture as SVG, with ``_RULES`` where its colours belong."""
    every = max(1, len(asked.labels) // 6)
    pygal = _load_pygal()
    style = pygal.style.Style(font_family="system-ui, sans-serif", label_font_size=10, major_label_font_size=10)
    chart: Any = getattr(pygal, asked.kind)(
        **_COMMON,
        style=style,
        width=asked.width,
        height=asked.height,
        range=(0, asked.top or max((each for each in asked.values if each is not None), default=0) or 1),
        x_labels_major_every=every,
        value_formatter=partial(_show_value, unit=_SHORT.get(asked.name, "")),
    )
    chart.x_labels = asked.labels
    chart.add_xml_filter(_strip)
    chart.add(asked.name, asked.values)
    return chart.render(is_unicode=True)


def _show_value(value: float, unit: str) -> str:
    return f"{value:,.4g}{unit}"


def _strip(root: Any) -> Any:
    """The picture without what only a mouse would use, scripts above all, and with our style in place of pygal's."""
    for parent in [*root.iter()]:
        for child in [*parent]:
            if not isinstance(child.tag, str) or child.tag in _UNUSED:
                parent.remove(child)
            elif child.tag == "style":
                child.text = _RULES
    return root


def _write_style(quiet: str, line: str) -> str:
    """The style: text and axes are quiet, and bars are lighter than the line."""
    return (
        f"svg{{font:10px system-ui,sans-serif}}text{{fill:{quiet}}}.background,.line{{fill:none}}"
        f".x text{{text-anchor:middle}}.y text{{text-anchor:end}}.axis .line{{stroke:{quiet}}}"
        f".axis .guide{{stroke:{quiet}55;stroke-dasharray:4,4}}.x .guide{{opacity:0}}"
        f".series .line{{stroke:{line};stroke-width:2}}circle,.series rect{{fill:{line}}}.series rect{{opacity:.7}}"
    )


def _build_address(drawn: str) -> str:
    return f"data:image/svg+xml;base64,{base64.b64encode(drawn.encode()).decode()}"
