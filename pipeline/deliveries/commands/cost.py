"""Executes ``cost``: what was spent here, and what is left; says what a review may cost before it begins."""

from collections.abc import Sequence

from agents.llm.models import Unusable
from agents.review.effort import EFFORTS
from domain.money import LimitScope, LimitUse
from domain.review.findings import Layer
from domain.review.reading import Effort, EffortCost
from domain.runs.run import Phase, ReasonCode, Run, Trigger
from domain.slash import PlainCommand
from memory import reservations
from memory.reservations import Spent
from memory.runs import checkpoints, runs
from messages import commands as texts
from pipeline.config import loading
from pipeline.deliveries.commands.context import CommandContext
from pipeline.publishing.instructions import name_runs
from safety.call_admission import limits_of

_OF_ONE_RUN = frozenset({LimitScope.phase, LimitScope.run})


async def show_cost(context: CommandContext, _asked: PlainCommand) -> str:
    """``/forge cost``"""
    paid = await runs.list_for_pull_request(*context.rows, with_questions=True)
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
    configuration = await loading.load_configuration(services, run.repository)
    limits = limits_of(configuration.budgets)
    budget = reservations.PhaseBudget(services.database, run, run.budget_phase, limits, services.clock, ceilings)
    return await budget.uses()


async def estimate_cost(context: CommandContext, effort: Effort) -> EffortCost:
    """Which model reads, what the last review here cost, and what this one may cost at most."""
    services, model = context.services, EFFORTS[effort].choose_model(context.services.models)
    configuration = await loading.load_configuration(services, context.repository)
    last = await checkpoints.load_latest_review(services.database, context.repository.id, context.number)
    layers = () if last is None else last.layers
    used = [tool for layer in layers if layer.layer is Layer.model for tool in layer.tools]
    return EffortCost(
        effort=effort,
        model="" if isinstance(model, Unusable) else model.name,
        last_model=", ".join(dict.fromkeys(tool.tool for tool in used)),
        last_tokens=sum(tool.tokens for tool in used),
        last_cost=sum(tool.cost for tool in used),
        most=limits_of(configuration.budgets).phase[Phase.review],
    )
