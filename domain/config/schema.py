"""The JSON Schema of ``.github/forge.yml``, and descriptions of its places in words."""

import re
from collections.abc import Sequence
from functools import cache
from typing import Any

from domain.config.configuration import Configuration

ADDRESS = "/schema/forge.yml.json"
"""Where a server of Forge shows it."""

Schema = dict[str, Any]  # a JSON Schema
Place = Sequence[str | int]
"""Keys and list positions that lead to a value."""


@cache
def build_schema() -> Schema:
    """The whole schema, JSON Schema 2020-12."""
    schema = _strip_titles(Configuration.model_json_schema())
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Configuration of Forge (.github/forge.yml)",
        **schema,
    }


def find_node(place: Place) -> Schema | None:
    """The schema of a place, with its references followed; None if there is no such place."""
    node: Schema | None = build_schema()
    for step in place:
        node = _child(drop_null(resolve_reference(node)), step) if node is not None else None
    return None if node is None else resolve_reference(node)


def list_keys(place: Place) -> list[str]:
    """The keys that a section knows."""
    node = find_node(place)
    return [] if node is None else list(drop_null(node).get("properties", {}))


def describe(node: Schema) -> str:
    """Describes the allowed values in a few words of Markdown, such as "a whole number from 0 to 100"."""
    node = resolve_reference(node)
    if "anyOf" in node:
        return " or ".join(describe(option) for option in node["anyOf"])
    if "enum" in node:
        return _join_choices([f"`{value}`" for value in node["enum"]])
    kind = node.get("type")
    if kind == "array":
        return f"a list, each entry {describe(node['items'])}"
    return _NAMES[kind] + _range(node) + _examples(node) if kind in _NAMES else "a value"


def resolve_reference(node: Schema) -> Schema:
    """A node with its reference resolved; keys beside the reference win."""
    if "$ref" not in node:
        return node
    target = build_schema()["$defs"][node["$ref"].rsplit("/", 1)[-1]]
    return {**target, **{key: value for key, value in node.items() if key != "$ref"}}


def drop_null(node: Schema) -> Schema:
    """The node without its null option; default and description stay."""
    options = [option for option in node.get("anyOf", ()) if option.get("type") != "null"]
    rest = {key: value for key, value in node.items() if key != "anyOf"}
    return (
        {**rest, **resolve_reference(options[0])}
        if len(options) == 1
        else {**rest, "anyOf": options}
        if options
        else node
    )


_NAMES = {
    "boolean": "`true` or `false`",
    "integer": "a whole number",
    "number": "a number",
    "string": "text",
    "null": "`null`",
    "object": "a section",
}


def _range(node: Schema) -> str:
    if node["type"] == "string":
        longest = node.get("maxLength")
        return "" if longest is None else f" of up to {longest} characters"
    low = node.get("minimum")
    above = node.get("exclusiveMinimum")
    high = node.get("maximum")
    if low is None and above is None:
        return ""
    return f" above {above:g} and up to {high:,}" if low is None else f" from {low:g} to {high:,}"


def _examples(node: Schema) -> str:
    examples = [f"`{value}`" for value in node.get("examples", ())]
    return f" such as {_join_choices(examples)}" if examples else ""


def _join_choices(items: list[str]) -> str:
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} or {items[-1]}"


def _child(node: Schema, step: str | int) -> Schema | None:
    if isinstance(step, int):
        return node.get("items")
    if step in node.get("properties", {}):
        return node["properties"][step]
    matching = (child for pattern, child in node.get("patternProperties", {}).items() if re.search(pattern, step))
    return next(matching, None)


def _strip_titles(node: Any) -> Any:
    """Drops the titles that pydantic derives from names."""
    if isinstance(node, list):
        return [_strip_titles(item) for item in node]  # pyright: ignore[reportUnknownVariableType]
    if not isinstance(node, dict):
        return node
    items: dict[str, Any] = node  # pyright: ignore[reportUnknownVariableType]
    return {
        key: _strip_titles(value) for key, value in items.items() if not (key == "title" and isinstance(value, str))
    }
