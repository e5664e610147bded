"""The shape of a call: what a provider is sent, and what an answer must look like."""

from typing import Any, cast

from pydantic import BaseModel, JsonValue
from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, ToolCallPart, UserPromptPart
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

REPORT = "report"
"""The only tool a model gets: it returns the answer."""


class NotAnAnswer(Exception):
    """An answer of the model that holds no value of the schema."""


def arguments(response: ModelResponse, max_output_tokens: int) -> Any:
    """What the model handed to the tool.

    :raises NotAnAnswer: if it did not use the tool, or not as it should.
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


def request(instructions: str, content: str, complaint: str | None) -> ModelRequest:
    """The stable part goes first, as instructions, so that providers can cache it."""
    if complaint is not None:
        content += f"\n\nYour last answer was of no use. {complaint} Answer once more by calling `{REPORT}`."
    return ModelRequest(parts=[UserPromptPart(content)], instructions=instructions)


def settings(max_output_tokens: int, seconds: float) -> ModelSettings:
    return ModelSettings(
        max_tokens=max_output_tokens,
        request_timeout=seconds,
        timeout=seconds,
        max_retries=0,  # repeating is ours: each repetition is reserved
        cache={"messages": False},
    )


def parameters(schema: type[BaseModel]) -> ModelRequestParameters:
    tool = ToolDefinition(
        name=REPORT,
        description="Hand in the answer.",
        parameters_json_schema=_slim(schema.model_json_schema()),
        kind="output",
    )
    return ModelRequestParameters(output_mode="tool", output_tools=[tool], allow_text_output=False)


def _slim(schema: dict[str, Any]) -> dict[str, Any]:
    """A JSON schema without what costs tokens and says nothing: titles, descriptions, defaults, definitions.

    :param schema: of a model that does not contain itself.
    """
    definitions = cast(dict[str, JsonValue], schema.get("$defs", {}))
    return cast(dict[str, Any], _in_place({key: value for key, value in schema.items() if key != "$defs"}, definitions))


def _in_place(node: JsonValue, definitions: dict[str, JsonValue], named: bool = False) -> JsonValue:
    """``named``: the keys are names of properties, not words of the schema language."""
    if isinstance(node, list):
        return [_in_place(item, definitions) for item in node]
    if not isinstance(node, dict):
        return node
    reference = node.get("$ref")
    if isinstance(reference, str) and not named:
        return _in_place(definitions[reference.rpartition("/")[2]], definitions)
    return {
        key: _in_place(value, definitions, named=not named and key == "properties")
        for key, value in node.items()
        if named or key not in {"title", "description", "default"}
    }
