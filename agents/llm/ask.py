"""Asks a model one question for one structured answer, with limits on time, attempts and money."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, ClassVar, TypeVar

from pydantic import BaseModel, JsonValue, ValidationError
from pydantic_ai.messages import ModelResponse

from agents.llm import messages
from agents.llm.client import CallRequest, ModelCall, ModelClient, RetryPolicy
from agents.llm.models import LanguageModel
from domain.money import CallOutcome, Refusal, Usage
from domain.ports import ModelBudget
from domain.value import Value


class Question(Value):
    """One question to a model.

    :param key: names the step; unique in its phase.
    :param instructions: the stable part, the same for every question of its kind; providers may cache it.
    :param content: the varying part.
    :param max_output_tokens: the limit of an answer.
    """

    key: str
    instructions: str
    content: str
    max_output_tokens: int = 4000


class ModelResult(Value):
    """The result of asking a model.

    :param problem: why there is nothing usable.
    :param refusal: the limit that kept the model from being asked.
    :param notice: why another model was asked.
    """

    NO_WORDS: ClassVar[frozenset[str]] = frozenset()
    """The names of fields that hold encoded bytes, in which nothing can be redacted."""

    key: str
    problem: str | None = None
    refusal: Refusal | None = None
    notice: str | None = None
    calls: tuple[ModelCall, ...] = ()

    @property
    def last_model(self) -> str | None:
        """The model that answered last."""
        return next((call.model for call in reversed(self.calls) if call.outcome is CallOutcome.answered), None)

    @property
    def cost(self) -> int:
        """In micro-USD."""
        return sum(call.cost for call in self.calls)

    @property
    def usage(self) -> Usage:
        return sum((call.usage for call in self.calls), Usage())

    @property
    def seconds(self) -> float:
        return sum(call.seconds for call in self.calls)


class ModelAnswer(ModelResult):
    """The answer to a question: a value of the schema, or why there is none. Can be stored as JSON."""

    value: dict[str, JsonValue] | None = None


def choose_after(model: LanguageModel, earlier: Sequence[ModelResult]) -> LanguageModel:
    """The model that goes on: once the fallback answered where this one was called in vain, the fallback.

    Otherwise each question would call this one again first, wait for its provider, and use up the calls of the phase.
    """
    other = model.fallback
    if other is None:
        return model
    is_away = any(
        each.last_model == other.name and any(call.model == model.name for call in each.calls) for each in earlier
    )
    return other if is_away else model


A = TypeVar("A", bound=BaseModel)

KeepAnswer = Callable[[ModelAnswer], Awaitable[None]]


async def ask(
    question: Question,
    schema: type[A],
    model: LanguageModel,
    budget: ModelBudget,
    retry: RetryPolicy = RetryPolicy(),
    keep: KeepAnswer | None = None,
) -> ModelAnswer:
    """Ask a model for a value of the schema.

    Each call is reserved before and settled after. If an answer cannot be used, the model is asked once more.

    :param keep: receives a usable answer before it is paid for.
    :returns: always an answer; ``problem`` holds any failure of the model, its provider or the budget.
    """
    asking = _OpenQuestion(question, schema, model, budget, retry, keep)
    answer = await asking.ask_once(None)
    if answer.value is None and asking.repairable:
        answer = await asking.ask_once(answer.problem)
    return answer


class _OpenQuestion:
    """One question while it is being asked."""

    def __init__(
        self,
        question: Question,
        schema: type[A],
        model: LanguageModel,
        budget: ModelBudget,
        retry: RetryPolicy,
        keep: KeepAnswer | None,
    ) -> None:
        self._question = question
        self._schema: type[BaseModel] = schema
        self._keep = keep
        self._caller = ModelClient(question.key, model, budget, retry, self._keep_first)
        self.repairable = False

    async def ask_once(self, complaint: str | None) -> ModelAnswer:
        """One answer. ``repairable`` then says whether it makes sense to ask again."""
        self.repairable = False
        response = await self._caller.fetch_response(self._build_request(complaint))
        if isinstance(response, Refusal):
            return self._end(problem=f"{response.message} {response.advice}", refusal=response)
        if isinstance(response, str):
            return self._end(problem=response)
        answer = self._read(response)
        self.repairable = answer.value is None
        return answer

    async def _keep_first(self, response: ModelResponse, call: ModelCall) -> None:
        answer = self._read(response)
        if self._keep is not None and answer.value is not None:
            await self._keep(answer.model_copy(update={"calls": (*answer.calls, call)}))

    def _read(self, response: ModelResponse) -> ModelAnswer:
        try:
            value = self._schema.model_validate(messages.read_arguments(response, self._question.max_output_tokens))
        except messages.NotAnAnswer as error:
            return self._end(problem=f"The answer of {self._caller.model.name} cannot be used: {error}")
        except ValidationError as error:
            return self._end(
                problem=f"The answer of {self._caller.model.name} cannot be used: {messages.describe_mistakes(error)}"
            )
        return self._end(value=value.model_dump(mode="json"))

    def _build_request(self, complaint: str | None) -> CallRequest:
        message = messages.build_request(self._question.instructions, self._question.content, complaint)
        return CallRequest([message], messages.build_parameters(self._schema), self._question.max_output_tokens)

    def _end(self, **parts: Any) -> ModelAnswer:
        client = self._caller
        return ModelAnswer(key=self._question.key, notice=client.notice, calls=tuple(client.calls), **parts)
