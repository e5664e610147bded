"""A scripted model for tests and the demo, called through the same interface as a real one."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import JsonValue
from pydantic_ai.exceptions import (
    ModelConnectionError,
    ModelHTTPError,
    ModelOverloadedError,
    ModelRateLimitError,
    ModelServerError,
)
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.usage import RequestUsage

from agents.llm.messages import REPORT
from agents.llm.models import LanguageModel
from agents.llm.prices import estimate
from domain.money import FREE, Price

NAME = "scripted"
_ERRORS = {429: ModelRateLimitError, 500: ModelServerError, 529: ModelOverloadedError}

Value = Mapping[str, JsonValue]


@dataclass(frozen=True)
class Fails:
    """The provider answers with an HTTP error: 429, 500, 529 or another."""

    status: int = 529
    retry_after: float | None = None


@dataclass(frozen=True)
class Stalls:
    """The provider does not answer for so many seconds."""

    seconds: float = 3600


@dataclass(frozen=True)
class Cuts:
    """The connection breaks while the answer comes in."""


@dataclass(frozen=True)
class Says:
    """The model answers with text instead of a report; an empty text means no answer at all."""

    text: str = ""


@dataclass(frozen=True)
class Reports:
    """The model calls a tool, perhaps the wrong one or with wrong arguments.

    :param usage: the provider's count; None if it gives none.
    """

    arguments: str
    tool: str = REPORT
    finish: Any = "tool_call"
    usage: RequestUsage | None = field(default_factory=RequestUsage)


@dataclass(frozen=True)
class Uses:
    """The model calls several tools at once.

    :param tools: name and arguments of each.
    """

    tools: Sequence[tuple[str, Mapping[str, JsonValue]]]
    text: str = ""


@dataclass(frozen=True)
class Raises:
    """An error that is not the provider's, such as the death of the process."""

    error: BaseException


Mishap = Fails | Stalls | Cuts | Says | Reports | Raises
ScriptedReply = Value | Uses | Mishap
Reply = ScriptedReply | Callable[[str], ScriptedReply | Awaitable[ScriptedReply]]
"""What it says; or what says it, once it was shown what the model is, and perhaps once something else has happened."""


@dataclass(frozen=True)
class RecordedCall:
    """One call as the model saw it."""

    instructions: str
    content: str


class ScriptedModel:
    """Answers according to what it is shown. Without a matching rule it reports empty lists.

    :param price: what its tokens cost.
    """

    def __init__(self, price: Price = FREE, name: str = NAME) -> None:
        self.name = name
        self.calls: list[RecordedCall] = []
        self._rules: list[tuple[str, list[Reply]]] = []
        self._price = price

    def when(self, shown: str, *replies: Reply) -> "ScriptedModel":
        """Where this text is shown, give these replies in turn; the last one repeats.

        A later rule takes precedence over an earlier one.
        """
        self._rules.insert(0, (shown, list(replies)))
        return self

    @property
    def language_model(self) -> LanguageModel:
        """The model for `agents.llm.ask.ask` and `agents.loop.turns.take_turn`."""
        return LanguageModel(self.name, FunctionModel(self._answer, model_name=self.name), self._price)

    async def _answer(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        content = "\n".join(_list_prompts(messages))
        self.calls.append(RecordedCall(info.instructions or "", content))
        reply = self._reply(content)
        said = reply(content) if callable(reply) else reply
        said = await said if isinstance(said, Awaitable) else said
        if said is None:
            said = _build_empty_report(info)
        return await _play(said, estimate((info.instructions or "") + content))

    def _reply(self, content: str) -> Reply | None:
        for shown, replies in self._rules:
            if shown in content:
                return replies.pop(0) if len(replies) > 1 else replies[0]
        return None


def _build_empty_report(info: AgentInfo) -> Value:
    required: list[str] = info.output_tools[0].parameters_json_schema.get("required", [])
    return {name: [] for name in required}


def _list_prompts(messages: list[ModelMessage]) -> list[str]:
    return [
        str(part.content)
        for message in messages
        if isinstance(message, ModelRequest)
        for part in message.parts
        if isinstance(part, UserPromptPart | ToolReturnPart)
    ]


async def _play(reply: ScriptedReply, tokens: int) -> ModelResponse:
    match reply:
        case Fails(status, retry_after):
            raise ModelHTTPError.for_category(
                _ERRORS.get(status), status_code=status, model_name=NAME, retry_after=retry_after
            )
        case Stalls(seconds):
            await asyncio.sleep(seconds)
            return ModelResponse([])
        case Cuts():
            raise ModelConnectionError(NAME, "The connection broke.", phase="read")
        case Raises(error):
            raise error
        case Says(text):
            return ModelResponse([TextPart(text)] if text else [], usage=_usage(tokens, text), finish_reason="stop")
        case Reports(arguments, tool, finish, usage):
            counted = RequestUsage(unmeasured_requests=1) if usage is None else usage
            return ModelResponse(
                [ToolCallPart(tool, arguments)],
                usage=counted if counted.has_values() or usage is None else _usage(tokens, arguments),
                finish_reason=finish,
            )
        case Uses(tools, text):
            said = [TextPart(text)] if text else []
            calls = [ToolCallPart(tool, json.dumps(dict(arguments))) for tool, arguments in tools]
            written = text + "".join(call.args_as_json_str() for call in calls)
            return ModelResponse([*said, *calls], usage=_usage(tokens, written), finish_reason="tool_call")
        case _:
            arguments = json.dumps(dict(reply))
            return ModelResponse(
                [ToolCallPart(REPORT, arguments)], usage=_usage(tokens, arguments), finish_reason="tool_call"
            )


def _usage(tokens: int, answer: str) -> RequestUsage:
    return RequestUsage(input_tokens=tokens, output_tokens=estimate(answer) + 1)
