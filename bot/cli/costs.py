"""`forge costs`: what models cost, by phase, model, repository and day, and how far the budgets of today are used."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from rich.markup import escape
from rich.table import Column, Table

from bot.cli import audit as auditing
from bot.cli.database import opened
from bot.cli.output import output
from bot.clock import SystemClock
from bot.settings import Installation
from domain.money import Use, shown
from domain.runs.run import RepositoryRef
from domain.text.escaping import visible
from memory.db.engine import Database
from memory.reports import costs
from memory.reports.costs import By, Cost, Known, Span
from memory.reservations import reservations
from memory.reservations.reservations import Spent
from pipeline.config import loading
from safety.budgets import capped, limits_of

MOST_DAYS = 31


@dataclass(frozen=True)
class Asked:
    """What was typed."""

    by: By | None = None
    run: str | None = None
    repository: str | None = None
    since: str | None = None
    until: str | None = None


async def show(settings: Installation, asked: Asked) -> None:
    """Print the sums, all of them if none is named, and the budgets of the repositories that spent today.

    :raises ForgeError: if it makes no sense; one line that says what is possible.
    """
    now = SystemClock().now()
    since, until = auditing.period(asked.since, asked.until, now)
    async with opened(settings) as database:
        run = None if asked.run is None else await auditing.run_named(database, asked.run)
        named = None if asked.repository is None else await auditing.repositories_named(database, asked.repository)
        span = Span(since, until, named, run)
        sums = {by: await costs.costs(database, by, span) for by in ([asked.by] if asked.by else By)}
        today = await costs.spending_today(database, now)
        budgets = [
            use
            for known, _ in today
            if named is None or known.id in named
            for use in await _budgets(settings, database, known, now)
        ]
    with output() as console:
        for by, found in sums.items():
            console.print(_table(by, found[:MOST_DAYS] if by is By.day else found))
            console.print()
        if budgets and asked.by is None and asked.run is None:
            console.print(_budget_table(budgets))


async def _budgets(settings: Installation, database: Database, known: Known, now: datetime) -> list[tuple[str, Use]]:
    """The day's budget of a repository as it was last configured, and the ceiling of its installation."""
    owner, _, name = known.full_name.partition("/")
    repository = RepositoryRef(installation_id=known.installation_id, id=known.id, owner=owner, name=name)
    held = await loading.stored(database, repository, settings.ceilings.of_configuration)
    limits = capped(limits_of(held.budgets), settings.ceilings)
    used = (await reservations.of_repository(database, known.id, now)).amount
    budgets = [Use(name="day", used=used, limit=limits.day)]
    if limits.installation is not None:
        of_all = (await reservations.of_installation(database, known.installation_id, now)).amount
        budgets.append(Use(name="installation, day", used=of_all, limit=limits.installation))
    return [(known.full_name, use) for use in budgets]


def _table(by: By, found: Sequence[Cost]) -> Table:
    numbers = ("calls", "in", "cached", "out", "spent", "reserved")
    table = Table(
        Column(by.value, no_wrap=True), *(Column(name, justify="right", no_wrap=True) for name in numbers), box=None
    )
    for cost in found:
        table.add_row(escape(visible(cost.name)), *_cells(cost.spent))
    if not found:
        table.add_row("nothing yet")
    return table


def _cells(spent: Spent) -> tuple[str, ...]:
    usage = spent.usage
    tokens = (usage.input_tokens, usage.cache_read_tokens, usage.output_tokens)
    return str(spent.calls), *(f"{count:,}" for count in tokens), shown(spent.amount), shown(spent.reserved)


def _budget_table(budgets: Sequence[tuple[str, Use]]) -> Table:
    numbers = (Column("used", justify="right"), Column("limit", justify="right"))
    table = Table("budget of today (UTC)", "of", *numbers, box=None)
    for repository, use in budgets:
        table.add_row(escape(visible(repository)), use.name, shown(use.used), shown(use.limit))
    return table
