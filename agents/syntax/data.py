"""Finds where a JSON, TOML or YAML file cannot be parsed, and leaves templates and dialects alone."""

# Both parsers of YAML come without types for their events.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

import json
import re
import tomllib
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import PurePosixPath

import yaml
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError as NewerError

from agents.syntax.validity import SyntaxFault

FORMATS: Mapping[str, str] = {".json": "json", ".toml": "toml", ".yaml": "yaml", ".yml": "yaml"}
"""Suffix → format."""

_TEMPLATE = re.compile(r"(?<!\$)\{\{|\{%|<%|\[\[ *\.|^[ \t]*#(if|else|end)\b|@[A-Z_]+@|%%\w+%%", re.MULTILINE)
_COMMENT = re.compile(r"(\"(?:\\.|[^\"\\\n])*\")|//[^\n]*|/\*.*?\*/", re.DOTALL)
_TRAILING = re.compile(r"(\"(?:\\.|[^\"\\\n])*\")|,(?=\s*[\]}])")
_LINE = re.compile(r"\(at line (\d+), column \d+\)|\(at end of document\)")


def find_format(path: str) -> str | None:
    """The format of a file, by its name."""
    return FORMATS.get(PurePosixPath(path).suffix)


def find_fault(form: str, text: str) -> SyntaxFault | None:
    """The first syntax error of a data file; None if it can be parsed or is a template."""
    plain = text.removeprefix("\ufeff")
    if not plain.strip():
        return None
    try:
        fault = _READERS[form](plain)
    except (RecursionError, ValueError, OverflowError):  # too deep, or a number no parser of ours takes
        return None
    return None if fault is not None and _TEMPLATE.search(plain) else fault


def _read_json(text: str) -> SyntaxFault | None:
    """Many programs allow comments and trailing commas in their JSON, or one document on each line."""
    with suppress(json.JSONDecodeError):
        json.loads(text)
        return None
    try:
        json.loads(_TRAILING.sub(_keep_text, _COMMENT.sub(_keep_text, text)))
    except json.JSONDecodeError as error:
        return None if _has_many_documents(text) else SyntaxFault(error.lineno, error.msg)
    return None


def _keep_text(found: re.Match[str]) -> str:
    """A string as it is; of anything else only its ends of lines."""
    return found[1] or "\n" * found[0].count("\n")


def _has_many_documents(text: str) -> bool:
    try:
        documents = [json.loads(line) for line in text.splitlines() if line.strip()]
    except ValueError:
        return False
    return len(documents) > 1 and all(isinstance(each, dict | list) for each in documents)


def _read_toml(text: str) -> SyntaxFault | None:
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = _LINE.search(str(error))
        line = int(found[1]) if found and found[1] else text.rstrip().count("\n") + 1
        return SyntaxFault(line, _LINE.sub("", str(error)).strip())
    return None


def _read_yaml(text: str) -> SyntaxFault | None:
    """An error only where the parsers of both versions of YAML find one; tags and aliases are not resolved."""
    try:
        for _ in yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            pass
    except yaml.reader.ReaderError:
        return None
    except yaml.MarkedYAMLError as error:
        return _describe(error) if _is_refused(text) else None
    return None


def _is_refused(text: str) -> bool:
    try:
        for _ in YAML(typ="safe", pure=True).parse(text):
            pass
    except NewerError:
        return True
    return False


def _describe(error: yaml.MarkedYAMLError) -> SyntaxFault:
    mark = error.problem_mark or error.context_mark
    line = 1 if mark is None else mark.line + 1
    return SyntaxFault(line, " ".join(filter(None, [error.context, error.problem])))


_READERS: Mapping[str, Callable[[str], SyntaxFault | None]] = {
    "json": _read_json,
    "toml": _read_toml,
    "yaml": _read_yaml,
}
