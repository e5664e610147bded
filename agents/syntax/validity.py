"""Says which changes break a file that could be parsed, as a job of the warm workers."""

import ast
import json
import tomllib
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import PurePosixPath
from typing import Any

from pydantic import JsonValue

from agents.syntax.errors import list_faults
from agents.syntax.languages import find_language


def find_broken(request: Any) -> JsonValue:
    """Those of several new contents that cannot be parsed although the file could: by the same parser, the strictest.

    :param request: ``path``, ``before``, and the contents ``after``.
    """
    for parse in _list_parsers(request["path"]):
        if parse(request["before"]):
            return [text for text in request["after"] if not parse(text)]
    return []


def _list_parsers(path: str) -> Iterator[Callable[[str], bool]]:
    """What parses a file of this name, the strictest first: Python's own parser knows only the Python that runs it."""
    suffix, language = PurePosixPath(path).suffix.lower(), find_language(path)
    if suffix in _STRICT:
        yield partial(_is_accepted, _STRICT[suffix])
    if language not in (None, "json"):
        yield partial(_has_tree, language)


def _is_accepted(parse: Callable[[str], object], text: str) -> bool:
    try:
        parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _has_tree(language: str, text: str) -> bool:
    return next(list_faults(language, text), None) is None


_STRICT: Mapping[str, Callable[[str], object]] = {
    ".py": ast.parse,
    ".pyi": ast.parse,
    ".json": json.loads,
    ".toml": tomllib.loads,
}


def prepare() -> None:
    """Load what is loaded late."""
    for path, text in (("a.py", "a = 1"), ("a.json", "1"), ("a.toml", "a = 1"), ("a.js", "a(")):
        find_broken({"path": path, "before": text, "after": [text]})
