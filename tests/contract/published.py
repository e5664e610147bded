"""Compares an answer with GitHub's published description of its API.

``published.json`` holds the schemas of the answers that are compared, from the npm package ``@octokit/openapi`` 23.0.2
(``generated/api.github.com.json``) by the contributors of octokit/openapi, under the MIT licence. Descriptions and
addresses (``url``, ``*_url``, ``_links``) were left out.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

Schema = dict[str, Any]

_PUBLISHED: dict[str, dict[str, Schema]] = json.loads(Path(__file__).with_name("published.json").read_text())
_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "array": (list,),
    "object": (dict,),
}


def find_differences(answer: str, body: object) -> list[str]:
    """Where a body is not as published: fields that are missing, and values of another kind.

    :param answer: method, path as published, and status: ``GET /repos/{owner}/{repo}/collaborators 200``.
    """
    return list(_differences(_PUBLISHED["answers"][answer], body, "$"))


def _differences(schema: Schema, value: Any, at: str) -> Iterator[str]:
    if "$ref" in schema:
        yield from _differences(_PUBLISHED["schemas"][schema["$ref"]], value, at)
        return
    if value is None and schema.get("nullable"):
        return
    for part in schema.get("allOf", []):
        yield from _differences(part, value, at)
    for several in ("oneOf", "anyOf"):
        found = [list(_differences(one, value, at)) for one in schema.get(several, [])]
        if found and all(found):
            yield from min(found, key=len)
    if "type" in schema and not _is_of(schema["type"], value):
        yield f"{at}: {type(value).__name__} instead of {schema['type']}"
    elif "enum" in schema and value not in schema["enum"]:
        yield f"{at}: {value!r} is none of {schema['enum']}"
    elif isinstance(value, dict):
        yield from _in_fields(schema, cast(Schema, value), at)
    elif isinstance(value, list):
        for number, item in enumerate(cast(list[Any], value)):
            yield from _differences(schema.get("items", {}), item, f"{at}[{number}]")


def _is_of(kind: str, value: object) -> bool:
    return isinstance(value, _TYPES[kind]) and (kind == "boolean" or not isinstance(value, bool))


def _in_fields(schema: Schema, value: Schema, at: str) -> Iterator[str]:
    yield from (f"{at}.{name}: missing" for name in schema.get("required", []) if name not in value)
    for name, one in schema.get("properties", {}).items():
        if name in value:
            yield from _differences(one, value[name], f"{at}.{name}")
