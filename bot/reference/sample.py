"""Writes a ``.github/forge.yml`` with every key at its default, each with what it means: docs/configuration.md."""

import json
import re
import textwrap
from collections.abc import Iterable, Iterator
from typing import Any, cast

from domain.config import configuration
from domain.config.configuration import Schema

_WIDTH = 112
PAGES = {"linters": "review.md", "gates": "gates.md", "environments": "deployments.md", "targets": "notices.md"}
"""The pages that show what an entry of these lists holds."""
_PLAIN = re.compile(r"[A-Za-z/.][\w ./-]*")
_WORDS_OF_YAML = {"true", "false", "null", "yes", "no", "on", "off"}


def yaml() -> str:
    """The file. What a list or a name of your own may hold is shown in comments."""
    sections = cast(dict[str, Schema], configuration.build_schema()["properties"])
    return "\n".join(line for name, node in sections.items() for line in _key(name, node, "")) + "\n"


def _key(name: str, raw: Schema, said: str) -> Iterator[str]:
    """The lines of a key.

    :param said: what is said of the section that it is in.
    """
    node = configuration.drop_null(configuration.resolve_reference(raw))
    if "properties" not in node:
        elsewhere = f" {PAGES[name]} shows one." if name in PAGES else ""
        yield from _explain(f"{name}: {_flow(node.get('default', _example(node)))}", _about(node, said) + elsewhere)
        yield from () if elsewhere else (f"#  {line}" for line in _entry(node))
    elif "description" in raw:  # one line says what all of its keys are
        yield from _explain(f"{name}: {_flow(_defaults(node))}", raw["description"])
    else:
        yield from _explain(f"{name}:", node["description"])
        yield from _indent(_keys(node))


def _keys(node: Schema) -> Iterator[str]:
    for name, child in cast(dict[str, Schema], node["properties"]).items():
        yield from _key(name, child, node["description"])


def _entry(node: Schema) -> Iterator[str]:
    """An entry of a list of sections."""
    entry = configuration.resolve_reference(node.get("items", {}))
    if "properties" in entry:
        first, *others = _keys(entry)
        yield from (f"- {first}", *_indent(others))


def _about(node: Schema, said: str) -> str:
    about = node.get("description", "")
    left = [choice for choice in node.get("enum", ()) if f"`{choice}`" not in f"{about} {said}"]
    return f"{about} One of {', '.join(left)}." if left else about


def _defaults(node: Schema) -> dict[str, Any]:
    return {name: child.get("default") for name, child in cast(dict[str, Schema], node["properties"]).items()}


def _example(node: Schema) -> object:
    """A value of a key that has to be there."""
    examples = configuration.resolve_reference(node.get("items", node)).get("examples", ("…",))
    return [examples[0]] if "items" in node else examples[0]


def _explain(text: str, about: str) -> Iterator[str]:
    """A comment behind the text, or above it where the line would be too long."""
    comment = about.replace("`", "")
    beside = f"{text}  # {comment}" if comment else text
    if len(beside) <= _WIDTH:
        yield beside
        return
    yield from (f"# {line}" for line in textwrap.wrap(comment, _WIDTH - 2))
    first, *others = textwrap.wrap(text, _WIDTH, break_long_words=False, break_on_hyphens=False)
    yield from (first, *_indent(others))


def _indent(lines: Iterable[str]) -> Iterator[str]:
    return (f"  {line}" for line in lines)


def _flow(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_flow(each)}" for key, each in cast(dict[str, Any], value).items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_flow, cast(list[Any], value))) + "]"
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value not in _WORDS_OF_YAML:
        return value
    return json.dumps(value, ensure_ascii=False)
