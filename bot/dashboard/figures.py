"""The pages of figures: costs with budgets and breakers, metrics, deployments, and the automation level."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from bot.dashboard.charts import draw_bars, draw_trend
from bot.dashboard.configuration import load_configuration
from bot.dashboard.visit import Page, Shown, Visit
from domain.money import MICRO
from domain.runs.metrics import WEEK, Measure, Series, find_end_of_day
from domain.verdicts import BreakerState
from memory import budgets, reservations
from memory.deployments import deployments
from memory.reports import costs, metrics
from memory.reports.costs import RunCost
from memory.reports.pages import list_level_changes
from memory.repositories import automation_level
from messages.audit import describe_event
from messages.automation import describe_allowed
from messages.metrics import format_value
from pipeline.config import loading
from pipeline.publishing.instructions import name_runs
from safety.allowed_actions import NAMES
from safety.automation_level import cap_level, measure_way
from safety.call_admission import cap_limits, limits_of

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
    past = await deployments.list_past(visit.database, repository_ids=[visit.repository.id], limit=DEPLOYMENTS)
    shown = {
        "running": await deployments.list_there(visit.database, visit.repository.id),
        "past": past,
        "most": DEPLOYMENTS,
    }
    return Page("deployments.html", "Deployments", shown)


CHANGES = 50
"""Changes of the level on the page, the newest ones."""


async def show_level(visit: Visit) -> Shown:
    """The level of a repository."""
    bounds = (await load_configuration(visit)).ladder
    facts = await automation_level.load_facts(visit.database, visit.repository.id)
    level = cap_level(facts.level, bounds)
    changes = await list_level_changes(visit.database, visit.repository.id, CHANGES)
    shown = {
        "level": level,
        "name": NAMES[level],
        "allows": describe_allowed(level),
        "bounds": bounds,
        "facts": facts,
        "way": measure_way(facts),
        "changes": [(event, describe_event(event)) for event in changes],
    }
    return Page("level.html", "Automation level", shown)
