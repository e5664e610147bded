"""The shape of a model call: what the provider receives, and what an answer must look like."""

from collections.abc import Sequence
from copy import deepcopy
from functools import cache
from typing import Any, cast

from pydantic import BaseModel, JsonValue, ValidationError
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

REPORT = "report"
"""The tool that returns the answer; for a single question it is the only tool."""


class NotAnAnswer(Exception):
    """The model's answer holds no value of the schema."""


def read_arguments(response: ModelResponse, max_output_tokens: int) -> Any:
    """The arguments of the model's report.

    :raises NotAnAnswer: the model did not call the tool, or called it wrongly.
    """
    if response.finish_reason == "content_filter":
        raise NotAnAnswer("the model refused.")
    if response.finish_reason == "length":
        raise NotAnAnswer("it was longer than allowed.")
    calls = [part for part in response.parts if isinstance(part, ToolCallPart)]
    if not calls:
        text = any(isinstance(part, TextPart) and part.content.strip() for part in response.parts)
        raise NotAnAnswer("it is plain text instead of a report." if text else "it is empty.")
    if calls[0].tool_name != REPORT:
        raise NotAnAnswer("it asks for a tool that does not exist.")
    if len(calls[0].args_as_json_str()) > 20 * max_output_tokens:
        raise NotAnAnswer("it is far too long.")
    try:
        return calls[0].args_as_dict(raise_if_invalid=True)
    except (ValueError, AssertionError):
        raise NotAnAnswer("it is not valid JSON.") from None


def build_request(instructions: str, content: str, complaint: str | None) -> ModelRequest:
    """The stable part goes first, as instructions, so that providers can cache it."""
    if complaint is not None:
        content += f"\n\nYour last answer was of no use. {complaint} Answer once more by calling `{REPORT}`."
    return ModelRequest(parts=[UserPromptPart(content)], instructions=instructions)


def describe_mistakes(error: ValidationError) -> str:
    """The first mistakes in an answer: their places, but no quotations."""
    listed = [f"{'.'.join(map(str, mistake['loc'])) or 'it'}: {mistake['msg']}" for mistake in error.errors()[:3]]
    return "; ".join(listed)[:400] + "."


def build_settings(max_output_tokens: int, seconds: float, *, cached: bool = False) -> ModelSettings:
    """The settings of a call.

    :param cached: whether the provider should cache the conversation, because a longer one follows.
    """
    return ModelSettings(
        max_tokens=max_output_tokens,
        request_timeout=seconds,
        timeout=seconds,
        max_retries=0,  # Forge repeats calls itself, because it reserves each one
        thinking=False,  # or as little as possible: thoughts count as output, whose limit is meant for the answer
        cache={"messages": cached},
    )


def build_parameters(schema: type[BaseModel], tools: Sequence[ToolDefinition] = ()) -> ModelRequestParameters:
    """The tools of a call.

    :param tools: what the model may use before it reports a value of the schema.
    """
    tool = ToolDefinition(
        name=REPORT,
        description="Hand in the answer.",
        parameters_json_schema=_schema(schema, _WORDS),
        kind="output",
    )
    return ModelRequestParameters(
        output_mode="tool", function_tools=list(tools), output_tools=[tool], allow_text_output=False
    )


def define_tool(name: str, description: str, arguments: type[BaseModel]) -> ToolDefinition:
    return ToolDefinition(name=name, description=description, parameters_json_schema=_schema(arguments, _TITLES))


def join_texts(messages: Sequence[ModelMessage], sent: ModelRequestParameters) -> str:
    """Everything that the provider counts as input, as one text."""
    tools = (
        f"{each.name} {each.description} {each.parameters_json_schema}"
        for each in (*sent.function_tools, *sent.output_tools)
    )
    parts = (_text(part) for message in messages for part in message.parts)
    instructions = next((each.instructions for each in messages if isinstance(each, ModelRequest)), None)
    return "".join((instructions or "", *parts, *tools))


def _text(part: object) -> str:
    match part:
        case ToolCallPart():
            return part.tool_name + part.args_as_json_str()
        case TextPart() | UserPromptPart() | ToolReturnPart():
            return str(part.content)
        case _:
            return ""


_TITLES = frozenset({"title"})
_WORDS = _TITLES | {"description", "default"}


def _schema(model: type[BaseModel], without: frozenset[str]) -> dict[str, Any]:
    """The JSON schema, copied for the caller; it is computed only once, because every turn of an agent sends it."""
    return deepcopy(_slim(model, without))


@cache
def _slim(model: type[BaseModel], without: frozenset[str]) -> dict[str, Any]:
    """The JSON schema with its definitions inlined, without keywords that cost tokens and say nothing here.

    :param model: one that does not contain itself.
    :param without: the keywords to leave out.
    """
    schema = model.model_json_schema()
    definitions = cast(dict[str, JsonValue], schema.get("$defs", {}))
    there: JsonValue = {key: value for key, value in schema.items() if key != "$defs"}
    return cast(dict[str, Any], _inline_references(there, definitions, without))


def _inline_references(
    node: JsonValue, definitions: dict[str, JsonValue], without: frozenset[str], named: bool = False
) -> JsonValue:
    """``named``: the keys are names of properties, not keywords."""
    if isinstance(node, list):
        return [_inline_references(item, definitions, without) for item in node]
    if not isinstance(node, dict):
        return node
    reference = node.get("$ref")
    if isinstance(reference, str) and not named:
        return _inline_references(definitions[reference.rpartition("/")[2]], definitions, without)
    return {
        key: _inline_references(value, definitions, without, named=not named and key == "properties")
        for key, value in node.items()
        if named or key not in without
    }
