"""Compares which dependencies two versions of a manifest name, and where they come from."""

import ast
import configparser
import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any, cast
from xml.etree import ElementTree

_LISTS = re.compile("dependenc", re.IGNORECASE)
_IN_PACKAGE = re.compile(
    "^.*dependenc.*$|^(overrides|resolutions|workspaces|pnpm|packageManager|engines)$", re.IGNORECASE
)
_IN_SETUP = re.compile("requir|dependenc")
_IN_POM = re.compile("dependenc|^(parent|build|profiles|properties|repositories|pluginRepositories|modules)$")
_SOURCES = frozenset({"build-system", "patch", "replace", "source", "sources"})
"""Tables that say from where packages come."""
_COMMENT = re.compile(r"(^|\s)(#|//).*")
_ABOUT_ITSELF = re.compile(r"(module|go)\s")


def names_same(path: str, base: str | None, head: str) -> bool:
    """Whether both versions of a manifest name the same dependencies; false where that is not certain.

    :param base: None for a new one.
    """
    read = _find_reader(path)
    if base is None or read is None:
        return False
    try:
        return read(base) == read(head)
    except (ValueError, SyntaxError, RecursionError, AttributeError, configparser.Error):
        return False


def _find_reader(path: str) -> Callable[[str], object] | None:
    name = PurePosixPath(path.lower()).name
    if name in _READERS:
        return _READERS[name]
    if name.endswith(".gemspec"):
        return _read_gemspec
    return _read_lines if name.endswith((".txt", ".in")) else None


def _read_package(text: str) -> object:
    return [(key, each) for key, each in json.loads(text).items() if _IN_PACKAGE.search(key)]


def _read_toml(text: str) -> object:
    return [*_list_tables(tomllib.loads(text))]


def _list_tables(value: Mapping[str, Any], place: str = "") -> Iterator[tuple[str, str]]:
    """Each table that lists dependencies, as it is."""
    for key, each in value.items():
        there = f"{place}/{key}"
        if _LISTS.search(key) or (key in _SOURCES and not isinstance(each, str) and _holds_tables(each)):
            yield there, repr(each)
        elif isinstance(each, dict):
            yield from _list_tables(cast(Mapping[str, Any], each), there)


def _holds_tables(value: Any) -> bool:
    return isinstance(value, dict) or all(isinstance(each, dict) for each in value)


def _read_pipfile(text: str) -> object:
    return {name: each for name, each in tomllib.loads(text).items() if name not in {"scripts", "pipenv"}}


def _read_settings(text: str) -> object:
    parser = configparser.RawConfigParser(strict=False)
    parser.read_string(text)
    return [
        (section, name, value)
        for section in parser.sections()
        for name, value in parser.items(section)
        if _IN_SETUP.search(name) or _IN_SETUP.search(section)
    ]


def _read_python(text: str) -> object:
    """Only what a call says in itself: a name may stand for anything."""
    said = [each for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call) for each in node.keywords]
    wanted = [each for each in said if each.arg is None or _IN_SETUP.search(each.arg)]
    return [(each.arg, ast.literal_eval(each.value)) for each in wanted]


def _read_xml(text: str) -> object:
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise ValueError("It may hold more than is written.")
    found = (node for node in ElementTree.fromstring(text) if _IN_POM.search(node.tag.rpartition("}")[2]))
    return [ElementTree.tostring(node) for node in found]


def _read_lines(text: str) -> object:
    """Everything but comments and what the module says of itself."""
    lines = (_COMMENT.sub("", line).strip() for line in text.split("\n"))
    return [line for line in lines if line and not _ABOUT_ITSELF.match(line)]


def _read_gemspec(text: str) -> object:
    """The lines that name a dependency: each says in itself which one."""
    lines = [line.strip() for line in text.split("\n") if _LISTS.search(_COMMENT.sub("", line))]
    if not all('"' in line or "'" in line for line in lines):
        raise ValueError("A name may stand for anything.")
    return lines


_READERS: Mapping[str, Callable[[str], object]] = {
    "package.json": _read_package,
    "pyproject.toml": _read_toml,
    "cargo.toml": _read_toml,
    "pipfile": _read_pipfile,
    "setup.cfg": _read_settings,
    "setup.py": _read_python,
    "pom.xml": _read_xml,
    "go.mod": _read_lines,
    "gemfile": _read_lines,
}
