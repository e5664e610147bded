"""Calls a model: every call is reserved first and settled after, and repeated while its provider fails."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict
from pydantic_ai.direct import model_request
from pydantic_ai.exceptions import (
    AgentRunError,
    ModelConnectionError,
    ModelHTTPError,
    ModelRateLimitError,
    ModelRequestTimeout,
    ModelServerError,
    ModelUnavailableError,
    UserError,
)
from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models import ModelRequestParameters

from agents.llm import messages
from agents.llm.models import LanguageModel, find_key_variable
from agents.llm.prices import compute_max_cost
from agents.llm.tokens import count_upper_bound
from domain.money import CallOutcome, Receipt, Refusal, Reservation, Usage
from domain.ports import ModelBudget

FAILURES = (AgentRunError, UserError, ValueError)
"""What a call of a model may raise; an answer that is none is a ``ValueError``."""

_OVERHEAD = 1500  # tokens providers add for tools and the frame of a conversation, generously
_TRANSIENT = (ModelRateLimitError, ModelUnavailableError, ModelServerError, ModelConnectionError, ModelRequestTimeout)


class ModelCall(BaseModel):
    """One call of a model, as it was accounted for. ``cost`` in micro-USD."""

    model_config = ConfigDict(frozen=True)

    model: str
    outcome: CallOutcome
    usage: Usage
    cost: int
    seconds: float


@dataclass(frozen=True)
class RetryPolicy:
    """How long and how often a model is asked.

    :param attempts: calls for one answer, the first included, as long as the provider fails.
    :param pauses: seconds between them; the provider may ask for more, up to ``longest_pause``.
    :param seconds: for one call.
    """

    attempts: int = 4
    pauses: tuple[float, ...] = (1.0, 4.0, 15.0)
    longest_pause: float = 60.0
    seconds: float = 120.0
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep


Keep = Callable[[ModelResponse], Awaitable[None]]


@dataclass(frozen=True)
class CallRequest:
    """What one call sends.

    :param messages: the conversation so far.
    :param parameters: the tools the model gets.
    :param max_output_tokens: what an answer may have at most.
    :param cached: whether the conversation will be sent again, with more behind it.
    """

    messages: list[ModelMessage]
    parameters: ModelRequestParameters
    max_output_tokens: int
    cached: bool = False


class ModelClient:
    """Calls one model for one step of a run; ``calls`` is what it did so far.

    :param step: the step the calls belong to.
    :param keep: is handed each response before it is settled, so that one that was paid for is never lost.
    """

    def __init__(
        self, step: str, model: LanguageModel, budget: ModelBudget, retry: RetryPolicy, keep: Keep | None = None
    ) -> None:
        self._step = step
        self._model = model
        self._budget = budget
        self._retry = retry
        self._keep = keep
        self.calls: list[ModelCall] = []

    async def fetch_response(self, sent: CallRequest) -> ModelResponse | Refusal | str:
        """The provider's response, after as many attempts as the policy allows, or why there is none."""
        for attempt in range(self._retry.attempts):
            reservation = await self._budget.reserve(self._step, self._model.name, self._compute_max_cost(sent))
            if isinstance(reservation, Refusal):
                return reservation
            response = await self._call(reservation, sent)
            if isinstance(response, ModelResponse):
                return response
            pause = self._pause(response, attempt)
            if pause is None:
                return explain_refusal(self._model, response) or _explain_failure(
                    self._model.name, response, attempt + 1
                )
            await self._retry.sleep(pause)
        raise AssertionError("the last attempt has no pause")

    async def _call(self, reservation: Reservation, sent: CallRequest) -> ModelResponse | Exception:
        """One call; what a provider does wrong is the answer, everything else goes through unsettled."""
        started = time.monotonic()
        try:
            response = await model_request(
                self._model.model,
                sent.messages,
                model_settings=messages.build_settings(sent.max_output_tokens, self._retry.seconds, cached=sent.cached),
                model_request_parameters=sent.parameters,
            )
        except FAILURES as error:
            outcome = CallOutcome.failed if is_free(error) else CallOutcome.lost
            amount = 0 if outcome is CallOutcome.failed else None
            await self._settle(
                reservation, outcome, amount, Usage(), time.monotonic() - started, summarize_error(error)
            )
            return error
        if self._keep is not None:
            await self._keep(response)
        usage, cost = self._measure_usage(response)
        await self._settle(reservation, CallOutcome.answered, cost, usage, time.monotonic() - started)
        return response

    async def _settle(
        self,
        reservation: Reservation,
        outcome: CallOutcome,
        amount: int | None,
        usage: Usage,
        seconds: float,
        problem: str = "",
    ) -> None:
        receipt = Receipt(outcome=outcome, amount=amount, usage=usage, seconds=seconds, problem=problem)
        cost = await self._budget.settle(reservation, receipt)
        self.calls.append(ModelCall(model=self._model.name, outcome=outcome, usage=usage, cost=cost, seconds=seconds))

    def _measure_usage(self, response: ModelResponse) -> tuple[Usage, int | None]:
        """The tokens a provider counted and their price; None if it did not say, so that it costs the reservation."""
        used = response.usage
        if used.unmeasured_requests or used.input_tokens <= 0:
            return Usage(), None
        usage = Usage(
            input_tokens=used.input_tokens,
            output_tokens=used.output_tokens,
            cache_read_tokens=used.cache_read_tokens,
            cache_write_tokens=used.cache_write_tokens,
        )
        return usage, self._model.price.cost(usage)

    def _compute_max_cost(self, sent: CallRequest) -> int:
        text = messages.join_texts(sent.messages, sent.parameters)
        return compute_max_cost(self._model.price, count_upper_bound(text) + _OVERHEAD, sent.max_output_tokens)

    def _pause(self, error: Exception, attempt: int) -> float | None:
        """Seconds until the next attempt; None if there should be none."""
        if not isinstance(error, _TRANSIENT) or attempt + 1 >= self._retry.attempts:
            return None
        asked = error.retry_after or 0.0
        pause = max(asked, self._retry.pauses[min(attempt, len(self._retry.pauses) - 1)])
        return pause if pause <= self._retry.longest_pause else None


def is_free(error: Exception) -> bool:
    """Whether the provider certainly did no work: it answered with an error, or was never reached."""
    if isinstance(error, ModelConnectionError):
        return error.phase in {"pool", "connect"}
    return isinstance(error, ModelHTTPError | UserError)


def explain_refusal(model: LanguageModel, error: Exception) -> str | None:
    """Why the provider will not let this model be asked, however often, and what to do; None if it is not that."""
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
        return f"{name} answered with HTTP {error.status_code}{tries}."
    if isinstance(error, ModelConnectionError):
        return f"{name} could not be reached{tries}."
    return f"{name} answered with something that cannot be read{tries}."


def summarize_error(error: Exception) -> str:
    """The error for the books, without what the provider wrote."""
    status = f" {error.status_code}" if isinstance(error, ModelHTTPError) else ""
    return type(error).__name__ + status
