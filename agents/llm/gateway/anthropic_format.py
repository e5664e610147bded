"""Reads and writes Anthropic's messages (https://docs.anthropic.com/en/api/messages)."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, JsonValue
from pydantic_ai.messages import ModelResponse, ToolCallPart

from agents.llm.gateway.wire import (
    MOST_TOOLS,
    Body,
    CallId,
    ChoiceMode,
    ModelName,
    NotARequest,
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
from agents.llm.messages import join_texts
from agents.llm.prices import estimate
from domain.value import Value


class _Text(Value):
    type: Literal["text"]
    text: str


class _ToolUse(Value):
    type: Literal["tool_use"]
    id: CallId
    name: ToolName
    input: dict[str, JsonValue]


class _ToolResult(Value):
    type: Literal["tool_result"]
    tool_use_id: CallId
    content: Texts = ()
    is_error: bool | None = None


class _Thought(Value):
    """A thought of another model, which is left out."""

    type: Literal["thinking", "redacted_thinking"]


def _list_blocks(content: object) -> object:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


_Block = Annotated[_Text | _ToolUse | _ToolResult | _Thought, Field(discriminator="type")]


class _Message(Value):
    role: Literal["user", "assistant", "system"]
    content: Annotated[list[_Block], BeforeValidator(_list_blocks)]


class _Tool(Value):
    type: Literal["custom"] | None = None
    name: ToolName
    description: str | None = None
    input_schema: dict[str, JsonValue]


class _ToolChoice(Value):
    type: Literal["auto", "any", "tool", "none"]
    name: ToolName | None = None


class _Prompt(Value):
    """What a model is shown; all of a request for ``count_tokens``."""

    model: ModelName
    messages: Annotated[list[_Message], Field(min_length=1)]
    system: Texts = ()
    tools: Annotated[list[_Tool], Field(max_length=MOST_TOOLS)] | None = None
    tool_choice: _ToolChoice | None = None


class _Request(_Prompt):
    max_tokens: TokenLimit
    stream: bool | None = None


_MODES: dict[str, ChoiceMode] = {"any": "required", "tool": "required", "none": "none"}


def parse_anthropic(body: bytes) -> WireRequest:
    """The request in a body of ``POST /v1/messages``.

    :raises NotARequest: it is none, or holds something that cannot be passed on.
    """
    request = read_body(body, _Request)
    asked = _read_prompt(request)
    return replace(asked, max_output_tokens=request.max_tokens, streams=bool(request.stream))


def count_anthropic(body: bytes) -> Body:
    """The answer to a body of ``POST /v1/messages/count_tokens``: an estimate, by which clients shorten what they send.

    :raises NotARequest: it is none, or holds something that cannot be passed on.
    """
    asked = _read_prompt(read_body(body, _Prompt))
    return {"input_tokens": estimate(join_texts(asked.messages, asked.parameters))}


def _read_prompt(request: _Prompt) -> WireRequest:
    transcript = Transcript()
    transcript.add_instructions(request.system)
    for at, message in enumerate(request.messages):
        if message.role == "assistant":
            _add_answer(transcript, message, at)
        else:
            _add_prompt(transcript, message, at)
    tools = [define_tool(each.name, each.description, each.input_schema) for each in request.tools or ()]
    chosen = request.tool_choice or _ToolChoice(type="auto")
    return WireRequest(
        model=request.model,
        messages=transcript.close(),
        parameters=offer_tools(tools, _MODES.get(chosen.type, "auto"), chosen.name),
    )


def _add_answer(transcript: Transcript, message: _Message, at: int) -> None:
    texts: list[str] = []
    calls: list[ToolCallPart] = []
    for place, block in enumerate(message.content):
        match block:
            case _Text():
                texts.append(block.text)
            case _ToolUse():
                calls.append(ToolCallPart(block.name, block.input, block.id))
            case _Thought():
                pass
            case _ToolResult():
                raise _refuse_block(at, place, "the assistant")
    transcript.add_answer(texts, calls)


def _add_prompt(transcript: Transcript, message: _Message, at: int) -> None:
    for place, block in enumerate(message.content):
        match block:
            case _Text():
                transcript.add_prompts([block.text])
            case _ToolResult():
                where = f"messages.{at}.content.{place}.tool_use_id"
                transcript.add_result(block.tool_use_id, block.content, where, is_error=bool(block.is_error))
            case _ToolUse() | _Thought():
                raise _refuse_block(at, place, "the user")


def _refuse_block(at: int, place: int, who: str) -> NotARequest:
    return NotARequest(f"messages.{at}.content.{place}.type: a message of {who} has no such block.")


_STOP_REASONS = {"length": "max_tokens", "content_filter": "refusal"}


def render_anthropic(response: ModelResponse, wanted: WireRequest, identity: str) -> Body:
    """An answer as a ``message``.

    :param identity: unique among the answers.
    """
    text, calls = join_answer(response), list_calls(response)
    content: list[JsonValue] = [{"type": "text", "text": text}] if text else []
    content += [_render_call(call) for call in calls]
    reason = _STOP_REASONS.get(response.finish_reason or "") or ("tool_use" if calls else "end_turn")
    return {
        "id": f"msg_{identity}",
        "type": "message",
        "role": "assistant",
        "model": wanted.model,
        "content": content,
        "stop_reason": reason,
        "stop_sequence": None,
        "usage": _render_usage(response),
    }


def _render_call(call: ToolCallPart) -> Body:
    return {"type": "tool_use", "id": call.tool_call_id, "name": call.tool_name, "input": call.args_as_dict()}


def _render_usage(response: ModelResponse) -> Body:
    """Anthropic's input tokens are those that its cache has nothing to do with."""
    used = response.usage
    return {
        "input_tokens": max(0, used.input_tokens - used.cache_read_tokens - used.cache_write_tokens),
        "cache_creation_input_tokens": used.cache_write_tokens,
        "cache_read_input_tokens": used.cache_read_tokens,
        "output_tokens": used.output_tokens,
    }


def frame_anthropic(message: Body, wants_usage: bool = True) -> str:
    """A ``message`` as the events of a stream, which always tell the tokens."""
    del wants_usage
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in _list_events(message))


def _list_events(message: Body) -> Iterator[Body]:
    blocks: Any = message["content"]
    begun: Body = {**message, "content": [], "stop_reason": None}
    yield {"type": "message_start", "message": begun}
    for at, block in enumerate(blocks):
        is_text = block["type"] == "text"
        empty: Body = {**block, "text": ""} if is_text else {**block, "input": {}}
        delta: Body = (
            {"type": "text_delta", "text": block["text"]}
            if is_text
            else {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        )
        yield {"type": "content_block_start", "index": at, "content_block": empty}
        yield {"type": "content_block_delta", "index": at, "delta": delta}
        yield {"type": "content_block_stop", "index": at}
    ended: Body = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": ended, "usage": message["usage"]}
    yield {"type": "message_stop"}


_TYPES = {
    401: "authentication_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    502: "api_error",
}


def render_anthropic_error(status: int, message: str) -> Body:
    """An error, for its HTTP status and what to tell."""
    return {"type": "error", "error": {"type": _TYPES.get(status, "invalid_request_error"), "message": message}}


ANTHROPIC = WireFormat(parse_anthropic, render_anthropic, frame_anthropic, render_anthropic_error)
