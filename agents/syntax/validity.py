"""Says whether a file can be parsed, as a job of the warm workers."""

import ast
import base64
import json
import tomllib
from pathlib import PurePosixPath
from typing import Any

from ast_grep_py import SgRoot
from pydantic import JsonValue

from agents.syntax.languages import find_language


def is_parsed(request: Any) -> JsonValue:
    """Whether a file has no error of syntax; None for a language that is not known.

    :param request: ``path`` and ``content``, in base64.
    """
    suffix = PurePosixPath(request["path"]).suffix.removeprefix(".").lower()
    content = base64.b64decode(request["content"])
    try:
        match suffix:
            case "py" | "pyi":
                ast.parse(content)
            case "json":
                json.loads(content)
            case "toml":
                tomllib.loads(content.decode())
            case _:
                language = find_language(request["path"])
                if language is None:
                    return None
                return SgRoot(content.decode(), language).root().find(kind="ERROR") is None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def prepare() -> None:
    """Load what is loaded late."""
    for path, text in (("a.py", "a = 1"), ("a.json", "1"), ("a.toml", "a = 1"), ("a.js", "a(")):
        is_parsed({"path": path, "content": base64.b64encode(text.encode()).decode()})
