"""Turns texts into vectors with the operator's embedding model. Each call is reserved before and settled after."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import structlog
from pydantic_ai.exceptions import AgentRunError, UserError

from agents.llm.client import classify, summarize_error
from agents.llm.models import Embedding
from agents.llm.prices import compute_max_cost, count_upper_bound
from domain.money import CallOutcome, Receipt, Refusal, Usage

if TYPE_CHECKING:
    from domain.ports import ModelBudget

log = structlog.get_logger(__name__)

LONGEST = 8_000  # characters used of a text
_SECONDS = 10.0  # short, because a run waits for it


async def embed(
    texts: Sequence[str], kind: Literal["query", "document"], embedding: Embedding, budget: ModelBudget, step: str
) -> Sequence[Sequence[float]] | None:
    """A vector for each text; None if the model may not be asked or does not answer.

    The caller then compares words instead.

    :param step: the step the call belongs to, for the records.
    """
    shown = [text[:LONGEST] or " " for text in texts]
    amount = compute_max_cost(embedding.price, sum(map(count_upper_bound, shown)), 0)
    reservation = await budget.reserve(step, embedding.name, amount)
    if isinstance(reservation, Refusal):
        return None
    started = time.monotonic()
    try:
        async with asyncio.timeout(_SECONDS):
            result = await embedding.model.embed(shown, input_type=kind)
    except (AgentRunError, UserError, ValueError, TimeoutError) as error:
        log.warning("embedding.failed", model=embedding.name, error=summarize_error(error))
        outcome = classify(error)
        cost = None if outcome is CallOutcome.lost else 0
        seconds = time.monotonic() - started
        await budget.settle(
            reservation, Receipt(outcome=outcome, amount=cost, seconds=seconds, problem=summarize_error(error))
        )
        return None
    usage = Usage(input_tokens=result.usage.input_tokens)
    cost = embedding.price.cost(usage) if usage.input_tokens else None  # otherwise it costs the reservation
    seconds = time.monotonic() - started
    await budget.settle(reservation, Receipt(outcome=CallOutcome.answered, amount=cost, usage=usage, seconds=seconds))
    return (
        result.embeddings
        if len(result.embeddings) == len(shown) and all(map(_has_direction, result.embeddings))
        else None
    )


def _has_direction(vector: Sequence[float]) -> bool:
    """Whether a vector has a direction; without one, nothing is near it."""
    return 0 < math.hypot(*vector) < math.inf
