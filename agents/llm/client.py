"""Calls a model, and another one where it is refused, away or too dear; also the model that turns texts into vectors.

Each call is reserved before and settled after, and repeated while its provider fails.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import structlog
from pydantic_ai.exceptions import AgentRunError, UserError

from agents.llm.models import Embedding
from agents.llm.prices import compute_max_cost, count_upper_bound
from domain.money import CallOutcome, Receipt, Refusal, Usage

if TYPE_CHECKING:
    from domain.ports import ModelBudget
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, cast

from pydantic_ai.direct import model_request
from pydantic_ai.exceptions import (
    ModelConnectionError,
    ModelHTTPError,
    ModelRateLimitError,
    ModelRequestTimeout,
    ModelServerError,
    ModelUnavailableError,
)
from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models import ModelRequestParameters

from agents.llm import messages
from agents.llm.models import CALL_SECONDS, LanguageModel, find_key_variable
from domain.money import Reservation
from domain.ports import ModelBudget
from domain.text.escaping import cut_text, flatten_redacted
from domain.value import Value

FAILURES = (AgentRunError, UserError, ValueError)
"""What a model call may raise; an unreadable answer is a ``ValueError``."""
_OVERHEAD = 1500  # a generous allowance for tokens that providers add for tools and the conversation
_REFUSALS = frozenset({401, 403, 404})  # of this model or key, whatever is asked
_TRANSIENT = (ModelRateLimitError, ModelUnavailableError, ModelServerError, ModelConnectionError, ModelRequestTimeout)


class ModelCall(Value):
    """One settled model call; ``cost`` is in micro-USD."""

    model: str
    outcome: CallOutcome
    usage: Usage
    cost: int
    seconds: float


Keep = Callable[[ModelResponse, ModelCall], Awaitable[None]]
"""Keeps a response with the call that brought it, which is settled next."""
_REASONS = (
    (
        r"credit balance|insufficient[ _](?:quota|funds|balance)|exceeded your current quota|billing",
        "the credit of its account is used up: add some at the provider",
    ),
    (
        r"(?:prompt|input|request) (?:is|was) too (?:long|large)|context[ _](?:length|window)|too many (?:\w+ )?tokens",
        "what it was sent is too long for it: name a model with a longer context, or make the change smaller",
    ),
    (
        r"content[ _-]?(?:filter\w*|management policy|policy)|safety (?:filter|system)|responsible ai|moderation",
        "its content filter blocked what it was sent: no other try helps, another provider may",
    ),
)
"""Of what providers say in their own words, what people can do something about."""
_LONGEST_REASON = 300  # characters
_SECONDS = 30.0
_TOKENS = 16
_MEANING = {
    401: "it refuses the key",
    403: "it refuses the key, or the key may not use this model",
    404: "it does not know the model by this name",
    429: "it answers no more for now: the key's limit or credit is used up",
}

log = structlog.get_logger(__name__)

LONGEST_EMBEDDED = 8_000  # characters used of a text
_EMBEDDING_SECONDS = 10.0  # short, because a run waits for it


async def embed(
    texts: Sequence[str], kind: Literal["query", "document"], embedding: Embedding, budget: ModelBudget, step: str
) -> Sequence[Sequence[float]] | None:
    """A vector for each text; None if the model may not be asked or does not answer.

    The caller then compares words instead.

    :param step: the step the call belongs to, for the records.
    """
    shown = [text[:LONGEST_EMBEDDED] or " " for text in texts]
    amount = compute_max_cost(embedding.price, sum(map(count_upper_bound, shown)), 0)
    reservation = await budget.reserve(step, embedding.name, amount)
    if isinstance(reservation, Refusal):
        return None
    started = time.monotonic()
    try:
        async with asyncio.timeout(_EMBEDDING_SECONDS):
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


async def try_model(model: LanguageModel) -> tuple[bool, str]:
    """Whether the model answered, and in how many seconds or why not.

    It costs a few tokens that no budget counts.
    """
    started = time.monotonic()
    seconds = _SECONDS if model.seconds <= CALL_SECONDS else model.seconds  # a local one may have to be loaded first
    try:
        async with model.model:
            await model_request(
                model.model,
                [messages.build_request("Answer with one word.", "Say ok.", None)],
                model_settings=messages.build_settings(_TOKENS, seconds),
            )
    except FAILURES as error:
        status = error.status_code if isinstance(error, ModelHTTPError) else 0
        said = read_reason(error)
        why = f"{_MEANING.get(status, 'it did not answer')} ({summarize_error(error)})"
        return False, f"{why}: {said}" if said and status not in _MEANING else why
    return True, f"answered in {time.monotonic() - started:.1f} s"


@dataclass(frozen=True)
class RetryPolicy:
    """How long and how often a model is asked.

    :param attempts: the most calls for one answer while the provider fails, the first included.
    :param pauses: seconds between them; the provider may ask for more, up to ``longest_pause``.
    :param seconds: the time limit of one call; None: the model's.
    """

    attempts: int = 4
    pauses: tuple[float, ...] = (1.0, 4.0, 15.0)
    longest_pause: float = 60.0
    seconds: float | None = None
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    def measure_longest(self, model: LanguageModel) -> float:
        """Seconds after which a model and its stand-ins have answered or failed for good."""
        own = self.attempts * (self.seconds or model.seconds) + (self.attempts - 1) * self.longest_pause
        return own * (1 if model.fallback is None and model.cheaper is None else 2)


@dataclass(frozen=True)
class CallRequest:
    """What one call sends.

    :param messages: the conversation so far.
    :param parameters: the tools the model gets.
    :param max_output_tokens: the limit of an answer.
    :param cached: whether a longer version of the conversation follows.
    """

    messages: list[ModelMessage]
    parameters: ModelRequestParameters
    max_output_tokens: int
    cached: bool = False


class ModelClient:
    """Calls a model for one step of a run. Once another one stood in for it, that one is called for the rest of it.

    ``calls`` lists the calls so far, ``model`` is the one that is called, ``notice`` says why it is another one.

    :param step: the step the calls belong to.
    :param keep: receives each response before it is settled, so that no paid response is lost.
    """

    def __init__(
        self, step: str, model: LanguageModel, budget: ModelBudget, retry: RetryPolicy, keep: Keep | None = None
    ) -> None:
        self._step = step
        self.model = model
        self.notice: str | None = None
        self._budget = budget
        self._retry = retry
        self._keep = keep
        self.calls: list[ModelCall] = []

    async def fetch_response(self, sent: CallRequest) -> ModelResponse | Refusal | str:
        """The response of the model or of its stand-in, or why there is none after all attempts."""
        own = self.model
        response = await self._ask(own, sent)
        stand_in = None if isinstance(response, ModelResponse) else find_stand_in(own, response)
        if stand_in is None or isinstance(response, ModelResponse):
            return response
        self.model, self.notice = stand_in, _explain_stand_in(own, stand_in, response)  # also for what is kept
        instead = await self._ask(stand_in, sent)
        if isinstance(instead, ModelResponse):
            return instead
        self.model, self.notice = own, None
        if isinstance(response, Refusal):
            return response
        return instead if isinstance(instead, Refusal) else f"{response} {instead}"

    async def _ask(self, model: LanguageModel, sent: CallRequest) -> ModelResponse | Refusal | str:
        """The response of this model, or why there is none after all attempts."""
        async with model.model:  # closes its connections
            for attempt in range(self._retry.attempts):
                reservation = await self._budget.reserve(self._step, model.name, _compute_max_cost(model, sent))
                if isinstance(reservation, Refusal):
                    return reservation
                response = await self._call(model, reservation, sent)
                if isinstance(response, ModelResponse):
                    return response
                pause = self._pause(response, attempt)
                if pause is None:
                    return explain_refusal(model, response) or _explain_failure(model.name, response, attempt + 1)
                await self._retry.sleep(pause)
        raise AssertionError("the last attempt has no pause")

    async def _call(
        self, model: LanguageModel, reservation: Reservation, sent: CallRequest
    ) -> ModelResponse | Exception:
        """One call. Returns an error of the provider; any other error passes through and leaves the call unsettled."""
        started = time.monotonic()
        limit = self._retry.seconds or model.seconds
        try:
            response = await model_request(
                model.model,
                sent.messages,
                model_settings=messages.build_settings(sent.max_output_tokens, limit, cached=sent.cached),
                model_request_parameters=sent.parameters,
            )
        except FAILURES as error:
            log.warning("model.failed", model=model.name, error=summarize_error(error), said=read_reason(error))
            outcome = classify(error)
            amount = None if outcome is CallOutcome.lost else 0
            seconds, problem = time.monotonic() - started, summarize_error(error)
            await self._settle(
                model, reservation, Receipt(outcome=outcome, amount=amount, seconds=seconds, problem=problem)
            )
            return error
        usage, cost = _measure_usage(model, response)
        seconds = time.monotonic() - started
        receipt = Receipt(outcome=CallOutcome.answered, amount=cost, usage=usage, seconds=seconds)
        if self._keep is not None:
            await self._keep(response, _describe(model, receipt, reservation.amount if cost is None else cost))
        await self._settle(model, reservation, receipt)
        return response

    async def _settle(self, model: LanguageModel, reservation: Reservation, receipt: Receipt) -> None:
        self.calls.append(_describe(model, receipt, await self._budget.settle(reservation, receipt)))

    def _pause(self, error: Exception, attempt: int) -> float | None:
        """Seconds until the next attempt; None if there should be none."""
        if not isinstance(error, _TRANSIENT) or attempt + 1 >= self._retry.attempts:
            return None
        asked = error.retry_after or 0.0
        pause = max(asked, self._retry.pauses[min(attempt, len(self._retry.pauses) - 1)])
        return pause if pause <= self._retry.longest_pause else None


def _describe(model: LanguageModel, receipt: Receipt, cost: int) -> ModelCall:
    return ModelCall(model=model.name, outcome=receipt.outcome, usage=receipt.usage, cost=cost, seconds=receipt.seconds)


def _measure_usage(model: LanguageModel, response: ModelResponse) -> tuple[Usage, int | None]:
    """The tokens that the provider counted, and their price; None (the whole reservation) if it counted none."""
    used = response.usage
    if used.unmeasured_requests or used.input_tokens <= 0:
        return Usage(), None
    usage = Usage(
        input_tokens=used.input_tokens,
        output_tokens=used.output_tokens,
        cache_read_tokens=used.cache_read_tokens,
        cache_write_tokens=used.cache_write_tokens,
    )
    return usage, model.price.cost(usage)


def _compute_max_cost(model: LanguageModel, sent: CallRequest) -> int:
    text = messages.join_texts(sent.messages, sent.parameters)
    return compute_max_cost(model.price, count_upper_bound(text) + _OVERHEAD, sent.max_output_tokens)


def find_stand_in(model: LanguageModel, failure: Refusal | str) -> LanguageModel | None:
    """The model to ask instead; None if another one would be stopped, too (pure).

    :param failure: why this one gave no response: what stopped the call, or what became of all attempts.
    """
    if isinstance(failure, str):
        return model.fallback
    if failure.is_about_money:
        return model.cheaper
    return model.fallback if failure.check.name == "error_rate" else None


def _explain_stand_in(model: LanguageModel, instead: LanguageModel, failure: Refusal | str) -> str:
    if isinstance(failure, Refusal) and instead is model.cheaper:
        return f"What is left of the budget does not allow {model.name}, so {instead.name} was asked."
    said = failure if isinstance(failure, str) else failure.message
    return f"{said} So {instead.name} was asked."


def _is_free(error: Exception) -> bool:
    """Whether the provider certainly did no work: it answered with an error, or was never reached."""
    if isinstance(error, ModelConnectionError):
        return error.phase in {"pool", "connect"}
    return isinstance(error, ModelHTTPError | UserError)


def classify(error: Exception) -> CallOutcome:
    """The outcome of a call that ended in an error."""
    if isinstance(error, ModelHTTPError) and error.status_code in _REFUSALS:
        return CallOutcome.refused
    return CallOutcome.failed if _is_free(error) else CallOutcome.lost


def explain_refusal(model: LanguageModel, error: Exception) -> str | None:
    """Why the provider will never accept this model, and what to do; None for any other error."""
    status = error.status_code if isinstance(error, ModelHTTPError) else 0
    match status:
        case 404:
            why = "its provider does not know this model"
        case 403:
            why = "its provider does not let this key use this model"
        case 401:
            key = find_key_variable(model.name)
            return f"{model.name} was refused: its provider does not accept the key (HTTP 401). " + (
                f"Check {key}." if key else "Check the key of its provider."
            )
        case _:
            return None
    return f"{model.name} was refused: {why} (HTTP {status}). Name another one in {model.setting}."


def _explain_failure(name: str, error: Exception, attempts: int) -> str:
    tries = "" if attempts == 1 else f" after {attempts} attempts"
    if isinstance(error, ModelRequestTimeout):
        return f"{name} did not answer in time{tries}."
    if isinstance(error, ModelHTTPError):
        return f"{name} answered with HTTP {error.status_code}{tries}{_explain_reason(read_reason(error))}."
    if isinstance(error, ModelConnectionError):
        became = "could not be reached" if _is_free(error) else "was reached, and the connection broke before an answer"
        return f"{name} {became}{tries}."
    return f"{name} answered with something that cannot be read{tries}."


def _explain_reason(said: str) -> str:
    """What a provider's reason means, in Forge's words; empty where that is not known."""
    known = (meaning for pattern, meaning in _REASONS if re.search(pattern, said, re.IGNORECASE))
    return next((f": {meaning}" for meaning in known), "")


def read_reason(error: Exception) -> str:
    """The provider's own reason in one line, without secrets; empty if there is none. It may quote what was sent."""
    body: Any = error.body if isinstance(error, ModelHTTPError) else str(error)
    while isinstance(body, dict):
        told = cast(dict[str, Any], body)
        body = told.get("error") or told.get("message") or told.get("detail") or ""
    return cut_text(flatten_redacted(str(body or "")), _LONGEST_REASON)


def summarize_error(error: Exception) -> str:
    """The error for the records, without the provider's text."""
    status = f" {error.status_code}" if isinstance(error, ModelHTTPError) else ""
    return type(error).__name__ + status
