"""Removes secrets from what an agent sends and from what it gets."""

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from pydantic import JsonValue
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.tools import ToolDefinition

from domain.text.redaction import Redact, redact_values


def mask_messages(messages: Sequence[ModelMessage], redact: Redact) -> list[ModelMessage]:
    """A conversation without secrets; of an answer only texts and tool calls are kept."""
    return [
        _mask_request(message, redact) if isinstance(message, ModelRequest) else mask_response(message, redact)
        for message in messages
    ]


def mask_response(response: ModelResponse, redact: Redact) -> ModelResponse:
    """The text of an answer as one, so that no secret hides between two parts, and its tool calls."""
    text = "".join(part.content for part in response.parts if isinstance(part, TextPart))
    calls = [_mask_call(part, redact) for part in response.parts if isinstance(part, ToolCallPart)]
    return replace(response, parts=[*([TextPart(redact(text))] if text else []), *calls])


def mask_parameters(parameters: ModelRequestParameters, redact: Redact) -> ModelRequestParameters:
    """The tools of a call, without secrets in what explains them."""
    return replace(parameters, function_tools=[_mask_tool(tool, redact) for tool in parameters.function_tools])


def _mask_tool(tool: ToolDefinition, redact: Redact) -> ToolDefinition:
    described = None if tool.description is None else redact(tool.description)
    schema = cast(dict[str, JsonValue], redact_values(tool.parameters_json_schema, redact))
    return replace(tool, name=redact(tool.name), description=described, parameters_json_schema=schema)


def _mask_request(request: ModelRequest, redact: Redact) -> ModelRequest:
    told = None if request.instructions is None else redact(request.instructions)
    return replace(request, parts=[_mask_asked(part, redact) for part in request.parts], instructions=told)


def _mask_asked(part: ModelRequestPart, redact: Redact) -> ModelRequestPart:
    match part:
        case UserPromptPart(content=str() as text):
            return replace(part, content=redact(text))
        case ToolReturnPart(content=str() as text):
            name, call = redact(part.tool_name), redact(part.tool_call_id)
            return replace(part, tool_name=name, content=redact(text), tool_call_id=call)
        case _:
            raise AssertionError("the formats read nothing else")


def _mask_call(call: ToolCallPart, redact: Redact) -> ToolCallPart:
    arguments = cast(dict[str, JsonValue], redact_values(call.args_as_dict(), redact))
    return replace(call, tool_name=redact(call.tool_name), args=arguments, tool_call_id=redact(call.tool_call_id))
