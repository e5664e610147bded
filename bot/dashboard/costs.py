"""The page of costs: what a repository spent by day, phase, model and run, its budgets, and its breakers."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from bot.dashboard.charts import draw_bars
from bot.dashboard.visit import Page, RepositoryAction, RepositoryPage, Shown, Visit
from domain.money import MICRO
from domain.verdicts import BreakerState
from memory.budgets import circuit_breakers
from memory.reports import cost_pages
from memory.reports.cost_pages import RunCost
from memory.reservations import reservations
from messages.run_page import name_trigger
from pipeline.config import loading
from safety.budgets import cap_limits, limits_of

PERIODS = (7, 30, 90)
"""Days that can be chosen."""
WORKING = 20
"""Runs at work whose budgets are shown."""
_STATES = {
    BreakerState.closed: "closed: calls are made",
    BreakerState.open: "open: no calls are made",
    BreakerState.half_open: "half open: one call is tried",
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
    days = int(chosen) if chosen in set(map(str, PERIODS)) else 30
    since = visit.now - timedelta(days=days - 1)
    spent = await cost_pages.load_costs(visit.database, visit.repository.id, since)
    breakers = await circuit_breakers.list_of_repository(visit.database, visit.repository.id)
    by_day = {each.name: each.spent.amount / MICRO for each in spent.days}
    names = [(since + timedelta(days=ago)).date().isoformat() for ago in range(days)]
    shown = {
        "days": days,
        "periods": PERIODS,
        "spent": spent,
        "picture": draw_bars("USD", names, [round(by_day.get(each, 0.0), 4) for each in names]) if by_day else "",
        "groups": [("day (UTC)", spent.days), ("phase", spent.phases), ("model", spent.models)],
        "runs": [_name_run(visit, each) for each in spent.runs],
        "budgets": await _list_budgets(visit),
        "breakers": [(name, each, _STATES[each.state]) for name, each in breakers.items()],
    }
    return Page("costs.html", "Costs", shown)


def _name_run(visit: Visit, cost: RunCost) -> tuple[str, str, RunCost]:
    return f"{name_trigger(cost.run.trigger)} of #{cost.run.number}", visit.address("runs", cost.run.id), cost


async def _list_budgets(visit: Visit) -> Sequence[BudgetShown]:
    """The budget of this day, and those of the runs at work; limits as last configured, capped by the operator's."""
    ceilings = visit.services.ceilings
    configured = await loading.load_stored(visit.database, visit.repository, ceilings.of_configuration)
    limits = cap_limits(limits_of(configured.budgets), ceilings)
    today = await reservations.sum_repository(visit.database, visit.repository.id, visit.now)
    day = BudgetShown("this day (UTC)", "", today.amount - today.reserved, today.reserved, limits.day)
    found = [day]
    for each in await cost_pages.list_working(visit.database, visit.repository.id, WORKING):
        name, address, cost = _name_run(visit, each)
        used = cost.spent.amount - cost.spent.reserved
        found.append(BudgetShown(name, address, used, cost.spent.reserved, limits.run))
    return found


PAGES = (RepositoryPage("costs", show_costs, tab="Costs"),)
ACTIONS: tuple[RepositoryAction, ...] = ()
