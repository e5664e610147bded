"""Executes ``cost``: what was spent on a pull request or issue, and what is left."""

from collections.abc import Sequence

from domain.money import LimitUse
from domain.runs.run import Run
from domain.slash.commands import PlainCommand
from memory.reservations import reservations
from memory.runs import runs
from messages import commands as texts
from pipeline.config import loading
from pipeline.deliveries.commands.context import CommandContext
from safety.budgets import limits_of


async def show_cost(context: CommandContext, asked: PlainCommand) -> str:
    """``/forge cost``"""
    return await context.journal.step(asked.verb, _render_cost, context)


async def _render_cost(context: CommandContext) -> str:
    where = (context.database, context.repository.id, context.number)
    past = await runs.list_for_pull_request(*where)
    paid = await runs.list_for_pull_request(*where, with_questions=True)
    budgets = await _list_budgets(context, past[0].run) if past else ()
    shares = [share for each in paid for share in await reservations.list_shares(context.database, run_id=each.run.id)]
    spending = [
        texts.Spending(share.phase, share.model, share.spent.calls, share.spent.usage, share.spent.amount)
        for share in shares
    ]
    return texts.render_cost(spending, budgets)


async def _list_budgets(context: CommandContext, run: Run) -> Sequence[LimitUse]:
    """How much of each limit of a run is used."""
    services, ceilings = context.services, context.services.ceilings
    loaded = await loading.load(services.host, services.database, run.repository, ceilings.of_configuration)
    limits = limits_of(loaded.configuration.budgets)
    budget = reservations.PhaseBudget(services.database, run, run.budget_phase, limits, services.clock, ceilings)
    return await budget.uses()
