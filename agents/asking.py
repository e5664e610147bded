"""Asks a model: one question, one structured answer, paid for and bounded in time, tries and money."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError
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
from pydantic_ai.messages import ModelResponse

from agents import wire
from agents.models import LanguageModel
from agents.prices import worst
from agents.tokens import at_most
from domain.money import Outcome, Receipt, Refusal, Reservation, Usage
from domain.ports import Purse

_OVERHEAD = 1500  # tokens providers add for tools and the frame of a conversation, generously
_TRANSIENT = (ModelRateLimitError, ModelUnavailableError, ModelServerError, ModelConnectionError, ModelRequestTimeout)


class Question(BaseModel):
    """One question to a model.

    :param key: names the step; unique in its phase.
    :param instructions: the stable part, the same for every question of its kind, which providers may cache.
    :param content: the varying part.
    :param max_output_tokens: what an answer may have at most.
    """

    model_config = ConfigDict(frozen=True)

    key: str
    instructions: str
    content: str
    max_output_tokens: int = 4000


class Call(BaseModel):
    """One call of a model, as it was accounted for. ``cost`` in micro-USD."""

    model_config = ConfigDict(frozen=True)

    model: str
    outcome: Outcome
    usage: Usage
    cost: int
    seconds: float


class Answer(BaseModel):
    """What became of a question: a value of the schema, or the reason there is none. JSON-able, for the journal."""

    model_config = ConfigDict(frozen=True)

    key: str
    value: dict[str, JsonValue] | None = None
    problem: str | None = None
    refusal: Refusal | None = None
    calls: tuple[Call, ...] = ()

    @property
    def cost(self) -> int:
        """Micro-USD."""
        return sum(call.cost for call in self.calls)

    @property
    def usage(self) -> Usage:
        return sum((call.usage for call in self.calls), Usage())

    @property
    def seconds(self) -> float:
        return sum(call.seconds for call in self.calls)


@dataclass(frozen=True)
class Patience:
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


A = TypeVar("A", bound=BaseModel)


async def ask(
    question: Question, schema: type[A], model: LanguageModel, purse: Purse, patience: Patience = Patience()
) -> Answer:
    """Ask a model for a value of the schema.

    Every call is reserved first and settled after. An answer that cannot be used is asked for once more.

    :returns: always an answer; whatever the model, its provider or the budget does wrong is its problem.
    """
    asking = _Asking(question, schema, model, purse, patience)
    async with model.model:  # closes its connections
        answer = await asking.once(None)
        if answer.value is None and asking.repairable:
            answer = await asking.once(answer.problem)
        return answer


class _Asking:
    """One question while it is being asked."""

    def __init__(
        self, question: Question, schema: type[A], model: LanguageModel, purse: Purse, patience: Patience
    ) -> None:
        self._question = question
        self._schema: type[BaseModel] = schema
        self._model = model
        self._purse = purse
        self._patience = patience
        self._calls: list[Call] = []
        self.repairable = False

    async def once(self, complaint: str | None) -> Answer:
        """One answer. ``repairable`` says whether it makes sense to ask again."""
        self.repairable = False
        response = await self._response(complaint)
        if isinstance(response, Refusal):
            return self._end(problem=f"{response.message} {response.advice}", refusal=response)
        if isinstance(response, str):
            return self._end(problem=response)
        try:
            value = self._schema.model_validate(wire.arguments(response, self._question.max_output_tokens))
        except wire.NotAnAnswer as error:
            self.repairable = True
            return self._end(problem=f"The answer of {self._model.name} cannot be used: {error}")
        except ValidationError as error:
            self.repairable = True
            return self._end(problem=f"The answer of {self._model.name} cannot be used: {_mistakes(error)}")
        return self._end(value=value.model_dump(mode="json"))

    def _end(self, **parts: Any) -> Answer:
        return Answer(key=self._question.key, calls=tuple(self._calls), **parts)

    async def _response(self, complaint: str | None) -> ModelResponse | Refusal | str:
        """The provider's response, after as many attempts as patience has; or why there is none."""
        for attempt in range(self._patience.attempts):
            reservation = await self._purse.reserve(self._question.key, self._model.name, self._worst(complaint))
            if isinstance(reservation, Refusal):
                return reservation
            response = await self._call(reservation, complaint)
            if isinstance(response, ModelResponse):
                return response
            pause = self._pause(response, attempt)
            if pause is None:
                return _explained(self._model.name, response, attempt + 1)
            await self._patience.sleep(pause)
        raise AssertionError("the last attempt has no pause")

    async def _call(self, reservation: Reservation, complaint: str | None) -> ModelResponse | Exception:
        """One call; what a provider does wrong is the answer, everything else goes through unsettled."""
        started = time.monotonic()
        try:
            response = await model_request(
                self._model.model,
                [wire.request(self._question.instructions, self._question.content, complaint)],
                model_settings=wire.settings(self._question.max_output_tokens, self._patience.seconds),
                model_request_parameters=wire.parameters(self._schema),
            )
        except (AgentRunError, UserError, ValidationError, ValueError) as error:
            outcome = Outcome.failed if _is_free(error) else Outcome.lost
            amount = 0 if outcome is Outcome.failed else None
            await self._settle(reservation, outcome, amount, Usage(), time.monotonic() - started, _short(error))
            return error
        usage, cost = self._measured(response)
        await self._settle(reservation, Outcome.answered, cost, usage, time.monotonic() - started)
        return response

    async def _settle(
        self,
        reservation: Reservation,
        outcome: Outcome,
        amount: int | None,
        usage: Usage,
        seconds: float,
        problem: str = "",
    ) -> None:
        receipt = Receipt(outcome=outcome, amount=amount, usage=usage, seconds=seconds, problem=problem)
        cost = await self._purse.settle(reservation, receipt)
        self._calls.append(Call(model=self._model.name, outcome=outcome, usage=usage, cost=cost, seconds=seconds))

    def _measured(self, response: ModelResponse) -> tuple[Usage, int | None]:
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

    def _worst(self, complaint: str | None) -> int:
        schema = str(wire.parameters(self._schema).output_tools[0].parameters_json_schema)
        text = "".join((self._question.instructions, self._question.content, schema, complaint or ""))
        return worst(self._model.price, at_most(text) + _OVERHEAD, self._question.max_output_tokens)

    def _pause(self, error: Exception, attempt: int) -> float | None:
        """Seconds until the next attempt; None if there should be none."""
        if not isinstance(error, _TRANSIENT) or attempt + 1 >= self._patience.attempts:
            return None
        asked = error.retry_after or 0.0
        pause = max(asked, self._patience.pauses[min(attempt, len(self._patience.pauses) - 1)])
        return pause if pause <= self._patience.longest_pause else None


def _is_free(error: Exception) -> bool:
    """Whether the provider certainly did no work: it answered with an error, or was never reached."""
    if isinstance(error, ModelConnectionError):
        return error.phase in {"pool", "connect"}
    return isinstance(error, ModelHTTPError | UserError)


def _explained(name: str, error: Exception, attempts: int) -> str:
    tries = "" if attempts == 1 else f" after {attempts} attempts"
    if isinstance(error, ModelRequestTimeout):
        return f"{name} did not answer in time{tries}."
    if isinstance(error, ModelHTTPError):
        return f"{name} answered with HTTP {error.status_code}{tries}."
    if isinstance(error, ModelConnectionError):
        return f"{name} could not be reached{tries}."
    return f"{name} answered with something that cannot be read{tries}."


def _mistakes(error: ValidationError) -> str:
    """The first mistakes in an answer, in words that name places but quote nothing of it."""
    listed = [f"{'.'.join(map(str, mistake['loc'])) or 'it'}: {mistake['msg']}" for mistake in error.errors()[:3]]
    return "; ".join(listed)[:400] + "."


def _short(error: Exception) -> str:
    """The error for the books, without what the provider wrote."""
    status = f" {error.status_code}" if isinstance(error, ModelHTTPError) else ""
    return type(error).__name__ + status
