"""Reads and writes OpenAI's chat completions (https://platform.openai.com/docs/api-reference/chat)."""

import json
from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import Field, JsonValue
from pydantic_ai.messages import ModelResponse, ToolCallPart

from agents.llm.gateway.wire import (
    MOST_TOOLS,
    Body,
    CallId,
    ChoiceMode,
    ModelName,
    Texts,
    TokenLimit,
    ToolName,
    Transcript,
    WireFormat,
    WireRequest,
    define_tool,
    join_answer,
    list_calls,
    offer_tools,
    read_body,
)
from domain.value import Value


class _Function(Value):
    name: ToolName
    arguments: str


class _Call(Value):
    id: CallId
    type: Literal["function"] = "function"
    function: _Function


class _SystemMessage(Value):
    role: Literal["system", "developer"]
    content: Texts


class _UserMessage(Value):
    role: Literal["user"]
    content: Texts


class _AssistantMessage(Value):
    role: Literal["assistant"]
    content: Texts = ()
    tool_calls: list[_Call] | None = None


class _ToolMessage(Value):
    role: Literal["tool"]
    tool_call_id: CallId
    content: Texts


_Message = Annotated[_SystemMessage | _UserMessage | _AssistantMessage | _ToolMessage, Field(discriminator="role")]


class _FunctionDefinition(Value):
    name: ToolName
    description: str | None = None
    parameters: dict[str, JsonValue] | None = None


class _Tool(Value):
    type: Literal["function"]
    function: _FunctionDefinition


class _FunctionName(Value):
    name: ToolName


class _NamedChoice(Value):
    type: Literal["function"]
    function: _FunctionName


class _StreamOptions(Value):
    include_usage: bool = False


class _Request(Value):
    model: ModelName
    messages: Annotated[list[_Message], Field(min_length=1)]
    tools: Annotated[list[_Tool], Field(max_length=MOST_TOOLS)] | None = None
    tool_choice: ChoiceMode | _NamedChoice | None = None
    max_tokens: TokenLimit | None = None
    max_completion_tokens: TokenLimit | None = None
    stream: bool | None = None
    stream_options: _StreamOptions | None = None


def parse_openai(body: bytes) -> WireRequest:
    """The request in a body of ``POST /v1/chat/completions``.

    :raises NotARequest: it is none, or holds something that cannot be passed on.
    """
    request = read_body(body, _Request)
    transcript = Transcript()
    for at, message in enumerate(request.messages):
        _add(transcript, message, at)
    functions = [tool.function for tool in request.tools or ()]
    tools = [define_tool(each.name, each.description, each.parameters) for each in functions]
    chosen = request.tool_choice or "auto"
    named = chosen.function.name if isinstance(chosen, _NamedChoice) else None
    return WireRequest(
        model=request.model,
        messages=transcript.close(),
        parameters=offer_tools(tools, "required" if isinstance(chosen, _NamedChoice) else chosen, named),
        max_output_tokens=request.max_completion_tokens or request.max_tokens,
        streams=bool(request.stream),
        wants_usage=request.stream_options is not None and request.stream_options.include_usage,
    )


def _add(transcript: Transcript, message: _Message, at: int) -> None:
    match message:
        case _SystemMessage():
            transcript.add_instructions(message.content)
        case _UserMessage():
            transcript.add_prompts(message.content)
        case _AssistantMessage():
            calls = [
                ToolCallPart(each.function.name, each.function.arguments, each.id) for each in message.tool_calls or ()
            ]
            transcript.add_answer(message.content, calls)
        case _ToolMessage():
            transcript.add_result(message.tool_call_id, message.content, f"messages.{at}.tool_call_id")


def render_openai(response: ModelResponse, wanted: WireRequest, identity: str) -> Body:
    """An answer as a ``chat.completion``.

    :param identity: unique among the answers.
    """
    calls: list[JsonValue] = [_render_call(call) for call in list_calls(response)]
    message: Body = {"role": "assistant", "content": join_answer(response) or (None if calls else ""), "refusal": None}
    if calls:
        message["tool_calls"] = calls
    reason = _find_finish_reason(response, bool(calls))
    return {
        "id": f"chatcmpl-{identity}",
        "object": "chat.completion",
        "created": int(response.timestamp.timestamp()),
        "model": wanted.model,
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": reason}],
        "usage": _render_usage(response),
    }


def _render_call(call: ToolCallPart) -> Body:
    function: Body = {"name": call.tool_name, "arguments": call.args_as_json_str()}
    return {"id": call.tool_call_id, "type": "function", "function": function}


def _find_finish_reason(response: ModelResponse, calls_tools: bool) -> str:
    if response.finish_reason in {"length", "content_filter"}:
        return str(response.finish_reason)
    return "tool_calls" if calls_tools else "stop"


def _render_usage(response: ModelResponse) -> Body:
    used = response.usage
    return {
        "prompt_tokens": used.input_tokens,
        "completion_tokens": used.output_tokens,
        "total_tokens": used.input_tokens + used.output_tokens,
        "prompt_tokens_details": {"cached_tokens": used.cache_read_tokens},
    }


def frame_openai(completion: Body, wants_usage: bool) -> str:
    """A ``chat.completion`` as the events of a stream.

    :param wants_usage: whether the last event tells the tokens.
    """
    chunks = [*_cut(completion), *([_render_last(completion)] if wants_usage else [])]
    return "".join(f"data: {event}\n\n" for event in (*map(json.dumps, chunks), "[DONE]"))


def _cut(completion: Body) -> Iterator[Body]:
    choices: Any = completion["choices"]
    message, reason = dict(choices[0]["message"]), choices[0]["finish_reason"]
    calls: list[JsonValue] = [{"index": at, **call} for at, call in enumerate(message.pop("tool_calls", ()))]
    yield _render_chunk(completion, message)
    if calls:
        yield _render_chunk(completion, {"tool_calls": calls})
    yield _render_chunk(completion, {}, reason)


def _render_chunk(completion: Body, delta: Body, reason: str | None = None) -> Body:
    choice: Body = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
    return {**_render_head(completion), "choices": [choice]}


def _render_last(completion: Body) -> Body:
    return {**_render_head(completion), "choices": [], "usage": completion["usage"]}


def _render_head(completion: Body) -> Body:
    return {**{name: completion[name] for name in ("id", "created", "model")}, "object": "chat.completion.chunk"}


_CODES = {401: "invalid_api_key", 404: "not_found", 429: "insufficient_quota"}
_TYPES = {429: "insufficient_quota", 502: "server_error"}


def render_openai_error(status: int, message: str) -> Body:
    """An error, for its HTTP status and what to tell."""
    kind = _TYPES.get(status, "invalid_request_error")
    return {"error": {"message": message, "type": kind, "param": None, "code": _CODES.get(status)}}


OPENAI = WireFormat(parse_openai, render_openai, frame_openai, render_openai_error)
