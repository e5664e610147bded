"""What the formats of all providers have in common: a request that was read, and how its conversation is built."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, TypeVar, cast

from pydantic import BaseModel, BeforeValidator, Field, JsonValue, StringConstraints, ValidationError
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.tools import ToolDefinition
from pydantic_core import PydanticCustomError

from agents.llm.messages import describe_mistakes

M = TypeVar("M", bound=BaseModel)
Body = dict[str, JsonValue]

ModelName = Annotated[str, StringConstraints(max_length=200)]
# Providers count names and ids as input, but a reservation does not: so they are short.
CallId = Annotated[str, StringConstraints(pattern=r"^[!-~]{1,128}$")]
ToolName = Annotated[str, StringConstraints(pattern=r"^[!-~]{1,128}$")]
TokenLimit = Annotated[int, Field(gt=0)]
MOST_PARTS = 4000
"""The most parts of a conversation: each costs a few tokens that a reservation does not count."""
MOST_TOOLS = 500
ChoiceMode = Literal["auto", "none", "required"]


class NotARequest(Exception):
    """A body that cannot be passed on; the message says which field is wrong.

    :param status: the HTTP status of the answer.
    """

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True)
class WireRequest:
    """A request of an agent, read from the format of an API.

    :param model: the name that the agent gave; it is only echoed.
    :param max_output_tokens: the limit that it asked for, if any.
    :param wants_usage: whether a stream tells the tokens, too.
    :param custom_tools: the tools that take a text instead of arguments.
    """

    model: str
    messages: list[ModelMessage]
    parameters: ModelRequestParameters
    max_output_tokens: int | None = None
    streams: bool = False
    wants_usage: bool = True
    custom_tools: frozenset[str] = frozenset()


@dataclass(frozen=True)
class WireFormat:
    """The format of one API, as pure functions.

    :param parse: reads a body; raises :class:`NotARequest`.
    :param render: writes the model's answer, for the request and an id.
    :param frame: cuts a written answer into server-sent events, with or without usage.
    :param render_error: writes an error, for its HTTP status and message.
    """

    parse: Callable[[bytes], WireRequest]
    render: Callable[[ModelResponse, WireRequest, str], Body]
    frame: Callable[[Body, bool], str]
    render_error: Callable[[int, str], Body]


def read_body(body: bytes, schema: type[M]) -> M:
    """A body as a value of the schema.

    :raises NotARequest: it is no JSON, or has another shape.
    """
    try:
        return schema.model_validate_json(body)
    except ValidationError as error:
        raise NotARequest(describe_mistakes(error)) from None


# --- text, the only content that is passed on -----------------------------------------------------------------


def _list_texts(content: object) -> object:
    if content is None:
        return ()
    if isinstance(content, str):
        return (content,)
    return [_take_text(part) for part in cast(list[object], content)] if isinstance(content, list) else content


def _take_text(part: object) -> object:
    known = cast(dict[str, object], part) if isinstance(part, dict) else {}
    if known.get("type") != "text":
        raise PydanticCustomError("only_text", "only parts of the type text can be passed on")
    return known.get("text")


Texts = Annotated[tuple[str, ...], BeforeValidator(_list_texts)]
"""Text content: a string, a list of text parts, or null."""


# --- the conversation -----------------------------------------------------------------------------------------


@dataclass
class Transcript:
    """Collects the messages of a request in the shape of a model call; raises :class:`NotARequest` if it has too many.

    :param instructions: the system prompt.
    """

    instructions: str | None = None
    messages: list[ModelMessage] = field(default_factory=list[ModelMessage])
    _tools: dict[str, str] = field(default_factory=dict[str, str])
    _parts: int = 0

    def add_instructions(self, texts: Sequence[str]) -> None:
        """The system prompt, or more of it; what comes amid the conversation stays at its place, as the user's."""
        if self.messages:
            self.add_prompts(texts)
        else:
            known = [self.instructions] if self.instructions else []
            self.instructions = "\n\n".join([*known, *texts]) or None

    def add_prompts(self, texts: Sequence[str]) -> None:
        self._add_to_request([UserPromptPart(text) for text in texts if text.strip()])

    def add_result(self, call_id: str, texts: Sequence[str], where: str, *, is_error: bool = False) -> None:
        """The result of an earlier tool call.

        :param where: the field that names the call.
        :raises NotARequest: there is no such call.
        """
        if call_id not in self._tools:
            raise NotARequest(f"{where}: no tool call before it has this id.")
        outcome = "retried" if is_error else "success"
        self._add_to_request([ToolReturnPart(self._tools[call_id], "\n".join(texts), call_id, outcome=outcome)])

    def add_answer(self, texts: Sequence[str], calls: Sequence[ToolCallPart]) -> None:
        """What the model said and which tools it called."""
        self._tools |= {call.tool_call_id: call.tool_name for call in calls}
        self._add_to_response([*(TextPart(text) for text in texts if text.strip()), *calls])

    def close(self) -> list[ModelMessage]:
        """The whole conversation.

        :raises NotARequest: it does not end with something to answer.
        """
        if not self.messages or not isinstance(self.messages[-1], ModelRequest):
            raise NotARequest("messages: the last one must be of the user, or the result of a tool.")
        for message in self.messages:
            if isinstance(message, ModelRequest):
                message.instructions = self.instructions
        return self.messages

    def _count(self, added: int) -> None:
        self._parts += added
        if self._parts > MOST_PARTS:
            raise NotARequest(f"messages: they have more than {MOST_PARTS:,} parts.")

    def _add_to_request(self, parts: Sequence[ModelRequestPart]) -> None:
        self._count(len(parts))
        last = self.messages[-1] if self.messages else None
        if isinstance(last, ModelRequest):
            last.parts = [*last.parts, *parts]
        elif parts:
            self.messages.append(ModelRequest(list(parts)))

    def _add_to_response(self, parts: Sequence[ModelResponsePart]) -> None:
        self._count(len(parts))
        last = self.messages[-1] if self.messages else None
        if isinstance(last, ModelResponse):
            last.parts = [*last.parts, *parts]
        elif parts:
            self.messages.append(ModelResponse(list(parts)))


def offer_tools(tools: Sequence[ToolDefinition], mode: ChoiceMode, name: str | None = None) -> ModelRequestParameters:
    """The tools of a call, as ``tool_choice`` wants them.

    :param name: the only tool that may be called.
    :raises NotARequest: there is no such tool.
    """
    offered = [tool for tool in tools if mode != "none" and name in {None, tool.name}]
    if mode == "required" and not offered:
        raise NotARequest("tool_choice: there is no such tool.")
    return ModelRequestParameters(function_tools=offered, allow_text_output=mode != "required")


def define_tool(name: str, description: str | None, schema: dict[str, JsonValue] | None) -> ToolDefinition:
    """A tool of the agent; without a schema it takes no arguments."""
    empty: dict[str, Any] = {"type": "object", "properties": {}}
    return ToolDefinition(name=name, description=description, parameters_json_schema=schema or empty)


# --- the answer -----------------------------------------------------------------------------------------------


def join_answer(response: ModelResponse) -> str:
    """What the model said."""
    return "".join(part.content for part in response.parts if isinstance(part, TextPart))


def list_calls(response: ModelResponse) -> list[ToolCallPart]:
    """The tools that it called; none if the answer was cut off, as the last call is then at an unknown place."""
    if response.finish_reason == "length":
        return []
    return [part for part in response.parts if isinstance(part, ToolCallPart)]
