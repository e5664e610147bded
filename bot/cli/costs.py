"""`forge costs`: shows what models cost by phase, model, repository and day, and today's use of the budgets."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

import typer

from bot.cli import lookup
from bot.cli.output import print_lines, print_table
from bot.cli.process import command
from bot.clock import SystemClock
from bot.current_database import open_database
from bot.settings import Installation
from domain.money import GroupBy, LimitUse, format_usd
from domain.runs.run import RepositoryRef
from memory import reservations
from memory.db.engine import Database
from memory.reports import costs
from memory.reports.costs import Cost, CostFilter, SpendingRepository
from pipeline.config import loading
from safety.call_admission import cap_limits, limits_of

commands = typer.Typer(add_completion=False, rich_markup_mode=None)

MAX_DAYS = 31
_NUMBERS = ("calls", "in", "cached", "out", "spent", "reserved")


@command(commands, "costs")
async def show(
    settings: Installation,
    by: Annotated[GroupBy | None, typer.Option(help="Only this grouping; else all, and today's budgets.")] = None,
    run: Annotated[
        str | None, typer.Option(metavar="ID", help="Only this run: its id or the last 6 characters.")
    ] = None,
    repository: Annotated[str | None, typer.Option(metavar="OWNER/NAME", help="Only this repository.")] = None,
    since: Annotated[
        str | None, typer.Option(metavar="WHEN", help="From this time on: 2h, 7d, 2026-01-31T14:00.")
    ] = None,
    until: Annotated[str | None, typer.Option(metavar="WHEN", help="Before this time.")] = None,
) -> None:
    """Sum up what models cost, by phase, model, repository and day (UTC).

    :raises ForgeError: if the options contradict each other or name something unknown.
    """
    now = SystemClock().now()
    start, end = lookup.parse_period(since, until, now)
    async with open_database(settings) as database:
        run_id = None if run is None else await lookup.find_run(database, run)
        named = None if repository is None else await lookup.find_repositories(database, repository)
        span = CostFilter(start, end, named, run_id)
        sums = {each: await costs.sum_costs(database, each, span) for each in ([by] if by else GroupBy)}
        today = await costs.sum_today(database, now)
        budgets = [
            use
            for known, _ in today
            if named is None or known.id in named
            for use in await _budgets(settings, database, known, now)
        ]
    if not any(sums.values()):
        print_lines("No model was asked." if span != CostFilter() else "No model was asked yet.")
    for each, found in ((each, found) for each, found in sums.items() if found):
        shown = found[:MAX_DAYS] if each is GroupBy.day else found
        print_table((each.value, *_NUMBERS), map(_list_cost, shown), _NUMBERS)
        print_lines("")
    if budgets and by is None and run is None:
        rows = [(full_name, use.name, format_usd(use.used), format_usd(use.limit)) for full_name, use in budgets]
        print_table(("today's budget (UTC)", "of", "used", "limit"), rows, ("used", "limit"))


def _list_cost(cost: Cost) -> Sequence[str]:
    usage = cost.spent.usage
    tokens = (usage.input_tokens, usage.cache_read_tokens, usage.output_tokens)
    money = (format_usd(cost.spent.amount), format_usd(cost.spent.reserved))
    return (cost.name, str(cost.spent.calls), *(f"{count:,}" for count in tokens), *money)


async def _budgets(
    settings: Installation, database: Database, known: SpendingRepository, now: datetime
) -> list[tuple[str, LimitUse]]:
    """The daily budget of a repository, as last configured, and the daily ceiling of its installation."""
    owner, _, name = known.full_name.partition("/")
    repository = RepositoryRef(installation_id=known.installation_id, id=known.id, owner=owner, name=name)
    held = await loading.load_stored(database, repository, settings.ceilings.of_configuration)
    limits = cap_limits(limits_of(held.budgets), settings.ceilings)
    used = (await reservations.sum_repository(database, known.id, now)).amount
    budgets = [LimitUse(name="day", used=used, limit=limits.day)]
    if limits.installation is not None:
        of_all = (await reservations.sum_installation(database, known.installation_id, now)).amount
        budgets.append(LimitUse(name="installation, day", used=of_all, limit=limits.installation))
    return [(known.full_name, use) for use in budgets]
