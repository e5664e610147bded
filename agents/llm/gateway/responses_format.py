"""Reads and writes OpenAI's responses (https://platform.openai.com/docs/api-reference/responses)."""

import json
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal, cast

from pydantic import BaseModel, BeforeValidator, Discriminator, Field, JsonValue, Tag
from pydantic_ai.messages import ModelResponse, ToolCallPart

from agents.llm.gateway.openai_format import render_openai_error
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

_TEXTS = {"input_text", "output_text", "text"}
_FREE_TEXT: dict[str, JsonValue] = {
    "type": "object",
    "properties": {"input": {"type": "string"}},
    "required": ["input"],
}
"""The arguments of a custom tool, which takes a text as it is."""


def _name_parts(content: object) -> object:
    """Parts of text under the one name that the other formats have for them."""
    if not isinstance(content, list):
        return content
    return [_name_part(part) for part in cast(list[object], content)]


def _name_part(part: object) -> object:
    if not isinstance(part, dict):
        return part
    known = cast(dict[str, object], part)
    return {**known, "type": "text"} if known.get("type") in _TEXTS else known


_Content = Annotated[Texts, BeforeValidator(_name_parts)]


class _Message(Value):
    role: Literal["user", "assistant", "system", "developer"]
    content: _Content


class _FunctionCall(Value):
    call_id: CallId
    name: ToolName
    arguments: str


class _CustomCall(Value):
    call_id: CallId
    name: ToolName
    input: str


class _Result(Value):
    call_id: CallId
    output: _Content = ()


class _Thought(Value):
    """A thought of another model, which is left out."""


def _find_kind(item: Any) -> str:
    return str(item.get("type") or "message") if isinstance(item, dict) else ""


_Item = Annotated[
    Annotated[_Message, Tag("message")]
    | Annotated[_FunctionCall, Tag("function_call")]
    | Annotated[_CustomCall, Tag("custom_tool_call")]
    | Annotated[_Result, Tag("function_call_output")]
    | Annotated[_Result, Tag("custom_tool_call_output")]
    | Annotated[_Thought, Tag("reasoning")],
    Discriminator(
        _find_kind,
        custom_error_type="unknown_item",
        custom_error_message=(
            "an item of this type cannot be passed on; Codex sends none with a model that it does not know (-m forge)"
        ),
    ),
]


def _list_items(given: object) -> object:
    return [{"role": "user", "content": given}] if isinstance(given, str) else given


class _Tool(Value):
    type: Literal["function", "custom"]
    name: ToolName
    description: str | None = None
    parameters: dict[str, JsonValue] | None = None


def _drop_server_tools(tools: object) -> object:
    """Tools that OpenAI's servers would run are not there, and agents offer them without being asked."""
    if not isinstance(tools, list):
        return tools
    known = (cast(dict[str, object], each) for each in cast(list[object], tools) if isinstance(each, dict))
    return [each for each in known if each.get("type") in {"function", "custom"}]


class _NamedChoice(Value):
    type: Literal["function", "custom"]
    name: ToolName


class _Request(Value):
    model: ModelName
    input: Annotated[list[_Item], Field(min_length=1), BeforeValidator(_list_items)]
    instructions: str | None = None
    tools: Annotated[list[_Tool], Field(max_length=MOST_TOOLS), BeforeValidator(_drop_server_tools)] | None = None
    tool_choice: ChoiceMode | _NamedChoice | None = None
    max_output_tokens: TokenLimit | None = None
    stream: bool | None = None
    previous_response_id: None = None  # nothing is kept between two calls


def parse_responses(body: bytes) -> WireRequest:
    """The request in a body of ``POST /v1/responses``.

    :raises NotARequest: it is none, or holds something that cannot be passed on.
    """
    request = read_body(body, _Request)
    transcript = Transcript()
    transcript.add_instructions([request.instructions] if request.instructions else [])
    for at, item in enumerate(request.input):
        _add(transcript, item, at)
    offered = request.tools or ()
    tools = [
        define_tool(each.name, each.description, _FREE_TEXT if each.type == "custom" else each.parameters)
        for each in offered
    ]
    chosen = request.tool_choice or "auto"
    named = chosen.name if isinstance(chosen, _NamedChoice) else None
    return WireRequest(
        model=request.model,
        messages=transcript.close(),
        parameters=offer_tools(tools, "required" if isinstance(chosen, _NamedChoice) else chosen, named),
        max_output_tokens=request.max_output_tokens,
        streams=bool(request.stream),
        custom_tools=frozenset(each.name for each in offered if each.type == "custom"),
    )


def _add(transcript: Transcript, item: BaseModel, at: int) -> None:
    match item:
        case _Message(role="assistant"):
            transcript.add_answer(item.content, [])
        case _Message(role="user"):
            transcript.add_prompts(item.content)
        case _Message():
            transcript.add_instructions(item.content)
        case _FunctionCall():
            transcript.add_answer([], [ToolCallPart(item.name, item.arguments, item.call_id)])
        case _CustomCall():
            transcript.add_answer([], [ToolCallPart(item.name, {"input": item.input}, item.call_id)])
        case _Result():
            transcript.add_result(item.call_id, item.output, f"input.{at}.call_id")
        case _:
            pass


def render_responses(response: ModelResponse, wanted: WireRequest, identity: str) -> Body:
    """An answer as a ``response``.

    :param identity: unique among the answers.
    """
    text, calls = join_answer(response), list_calls(response)
    items: list[JsonValue] = []
    if text or not calls:
        part: Body = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
        message: Body = {"id": f"msg_{identity}", "type": "message", "status": "completed", "role": "assistant"}
        items.append({**message, "content": [part]})
    items += [_render_call(call, wanted, f"{identity}_{at}") for at, call in enumerate(calls)]
    reasons = {"length": "max_output_tokens", "content_filter": "content_filter"}
    cut = reasons.get(response.finish_reason or "")
    return {
        "id": f"resp_{identity}",
        "object": "response",
        "created_at": int(response.timestamp.timestamp()),
        "status": "completed" if cut is None else "incomplete",
        "error": None,
        "incomplete_details": None if cut is None else {"reason": cut},
        "instructions": None,
        "metadata": {},
        "model": wanted.model,
        "output": items,
        "parallel_tool_calls": True,
        "temperature": None,
        "tool_choice": "auto",
        "tools": [],
        "top_p": None,
        "usage": _render_usage(response),
    }


def _render_call(call: ToolCallPart, wanted: WireRequest, identity: str) -> Body:
    head: Body = {"status": "completed", "call_id": call.tool_call_id, "name": call.tool_name}
    if call.tool_name in wanted.custom_tools:
        given = call.args_as_dict().get("input", "")
        return {"id": f"ctc_{identity}", "type": "custom_tool_call", **head, "input": str(given)}
    return {"id": f"fc_{identity}", "type": "function_call", **head, "arguments": call.args_as_json_str()}


def _render_usage(response: ModelResponse) -> Body:
    used = response.usage
    return {
        "input_tokens": used.input_tokens,
        "input_tokens_details": {"cached_tokens": used.cache_read_tokens},
        "output_tokens": used.output_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": used.input_tokens + used.output_tokens,
    }


def frame_responses(response: Body, wants_usage: bool = True) -> str:
    """A ``response`` as the events of a stream, which always tell the tokens."""
    del wants_usage
    events = ({**event, "sequence_number": at} for at, event in enumerate(_list_events(response)))
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)


def _list_events(response: Body) -> Iterator[Body]:
    begun: Body = {**response, "status": "in_progress", "output": [], "usage": None, "incomplete_details": None}
    yield {"type": "response.created", "response": begun}
    yield {"type": "response.in_progress", "response": begun}
    items = cast(Sequence[Any], response["output"])
    for at, item in enumerate(items):
        yield from _list_events_of(item, at)
    yield {"type": f"response.{response['status']}", "response": response}


_EMPTY: dict[str, dict[str, Any]] = {
    "message": {"content": []},
    "function_call": {"arguments": ""},
    "custom_tool_call": {"input": ""},
}


def _list_events_of(item: dict[str, Any], at: int) -> Iterator[Body]:
    place: Body = {"output_index": at}
    here: Body = {**place, "item_id": item["id"]}
    yield {
        "type": "response.output_item.added",
        **place,
        "item": {**item, **_EMPTY[item["type"]], "status": "in_progress"},
    }
    match item:
        case {"type": "message", "content": [part]}:
            here = {**here, "content_index": 0}
            yield {"type": "response.content_part.added", **here, "part": {**part, "text": ""}}
            if part["text"]:
                yield {"type": "response.output_text.delta", **here, "delta": part["text"], "logprobs": []}
            yield {"type": "response.output_text.done", **here, "text": part["text"], "logprobs": []}
            yield {"type": "response.content_part.done", **here, "part": part}
        case {"type": "function_call", "arguments": given}:
            yield {"type": "response.function_call_arguments.delta", **here, "delta": given}
            yield {"type": "response.function_call_arguments.done", **here, "name": item["name"], "arguments": given}
        case _:
            yield {"type": "response.custom_tool_call_input.delta", **here, "delta": item["input"]}
            yield {"type": "response.custom_tool_call_input.done", **here, "input": item["input"]}
    yield {"type": "response.output_item.done", **place, "item": item}


RESPONSES = WireFormat(parse_responses, render_responses, frame_responses, render_openai_error)
