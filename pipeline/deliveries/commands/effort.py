"""Says what a review with some effort may cost, before it begins."""

from agents.llm.models import Unusable
from agents.review.effort import EFFORTS
from domain.review.findings import Layer
from domain.review.reading import Effort, EffortCost
from domain.runs.run import Phase
from memory.runs import checkpoints
from pipeline.config import loading
from pipeline.deliveries.commands.context import CommandContext
from safety.call_admission import limits_of


async def estimate_cost(context: CommandContext, effort: Effort) -> EffortCost:
    """Which model reads, what the last review here cost, and what this one may cost at most."""
    services, model = context.services, EFFORTS[effort].choose_model(context.services.models)
    loaded = await loading.load_live(services, context.repository)
    last = await checkpoints.load_latest_review(services.database, context.repository.id, context.number)
    layers = () if last is None else last.layers
    used = [tool for layer in layers if layer.layer is Layer.model for tool in layer.tools]
    return EffortCost(
        effort=effort,
        model="" if isinstance(model, Unusable) else model.name,
        last_model=", ".join(dict.fromkeys(tool.tool for tool in used)),
        last_tokens=sum(tool.tokens for tool in used),
        last_cost=sum(tool.cost for tool in used),
        most=limits_of(loaded.configuration.budgets).phase[Phase.review],
    )
