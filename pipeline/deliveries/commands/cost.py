"""Executes ``cost``: what was spent on a pull request or issue, and what is left."""

from collections.abc import Sequence

from domain.money import LimitScope, LimitUse
from domain.runs.run import ReasonCode, Run, Trigger
from domain.slash.commands import PlainCommand
from memory import reservations
from memory.reservations import Spent
from memory.runs import runs
from messages import commands as texts
from pipeline.config import loading
from pipeline.deliveries.commands.context import CommandContext
from pipeline.publishing.instructions import name_runs
from safety.call_admission import limits_of

_OF_ONE_RUN = frozenset({LimitScope.phase, LimitScope.run})


async def show_cost(context: CommandContext, asked: PlainCommand) -> str:
    """``/forge cost``"""
    return await context.journal.step(asked.verb, _render_cost, context)


async def _render_cost(context: CommandContext) -> str:
    where = (context.database, context.repository.id, context.number)
    paid = await runs.list_for_pull_request(*where, with_questions=True)
    past = [each.run for each in paid if each.run.trigger is not Trigger.question]
    budgets = await _list_budgets(context, past) if past else ()
    return texts.render_cost(await _list_spending(context, [each.run for each in paid]), budgets)


async def _list_spending(context: CommandContext, paid: Sequence[Run]) -> Sequence[texts.Spending]:
    """What was spent, by what runs did, in the order in which that was done last."""
    named, spent = await name_runs(context.database, paid), dict[tuple[str, str, str], Spent]()
    for run in paid:
        for share in await reservations.list_shares(context.database, run_id=run.id):
            key = (named[run.id], share.phase, share.model)
            spent[key] = spent[key] + share.spent if key in spent else share.spent
    return [texts.Spending(*key, each.calls, each.usage, each.amount) for key, each in spent.items()]


async def _list_budgets(context: CommandContext, past: Sequence[Run]) -> Sequence[LimitUse]:
    """How much of each limit of the newest run is used that did anything; where none did, of those of all runs.

    :param past: newest first.
    """
    run = next((each for each in past if each.reason is not ReasonCode.excluded), None)
    if run is None:
        return [each for each in await _list_budgets_of(context, past[0]) if each.scope not in _OF_ONE_RUN]
    return await _list_budgets_of(context, run)


async def _list_budgets_of(context: CommandContext, run: Run) -> Sequence[LimitUse]:
    services, ceilings = context.services, context.services.ceilings
    loaded = await loading.load(services.host, services.database, run.repository, ceilings.of_configuration)
    limits = limits_of(loaded.configuration.budgets)
    budget = reservations.PhaseBudget(services.database, run, run.budget_phase, limits, services.clock, ceilings)
    return await budget.uses()
