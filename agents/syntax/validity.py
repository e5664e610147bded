"""Finds where a program or a data file cannot be parsed, and which changes break one that could be."""

# Both parsers of YAML come without types for their events.
# pyrefly: ignore-errors[unknown-variable-type]

import ast
import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import PurePosixPath

import yaml
from ast_grep_py import SgNode, SgRoot
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError as NewerError

from agents.syntax.languages import find_language
from domain.text.escaping import cut_text

BELIEVED = frozenset({"go", "java", "ruby", "php", "csharp", "rust"})
"""Languages whose errors can be believed."""
_PHP_ONLY = "<?php"
_MOST_PARSED = 4_000_000  # characters, in the search for the line that breaks a file


@dataclass(frozen=True)
class SyntaxFault:
    """The first place that cannot be parsed.

    :param line: counted from 1.
    :param text: what is wrong, as the rest of a sentence.
    :param is_placed: whether the line is where it is wrong, and not only where something begins that is.
    """

    line: int
    text: str
    is_placed: bool = True


_STRICT: Mapping[str, Callable[[str], object]] = {
    ".py": ast.parse,
    ".pyi": ast.parse,
    ".json": json.loads,
    ".toml": tomllib.loads,
}

FORMATS: Mapping[str, str] = {".json": "json", ".toml": "toml", ".yaml": "yaml", ".yml": "yaml"}
"""Suffix → format."""

_TEMPLATE = re.compile(r"(?<!\$)\{\{|\{%|<%|\[\[ *\.|^[ \t]*#(if|else|end)\b|@[A-Z_]+@|%%\w+%%", re.MULTILINE)
_COMMENT = re.compile(r"(\"(?:\\.|[^\"\\\n])*\")|//[^\n]*|/\*.*?\*/", re.DOTALL)
_TRAILING = re.compile(r"(\"(?:\\.|[^\"\\\n])*\")|,(?=\s*[\]}])")
_LINE = re.compile(r"\(at line (\d+), column \d+\)|\(at end of document\)")


def find_format(path: str) -> str | None:
    """The format of a file, by its name."""
    return FORMATS.get(PurePosixPath(path).suffix)


def find_data_fault(form: str, text: str) -> SyntaxFault | None:
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
    return len(documents) > 1 and all(isinstance(each, (dict, list)) for each in documents)


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


def find_grammar(path: str) -> str | None:
    """The grammar for a file, by its name; None if there is none to believe."""
    language = find_language(path)
    return language if language in BELIEVED else None


def find_fault(grammar: str, text: str) -> SyntaxFault | None:
    """The first syntax error of a program; None if it can be parsed or the grammar cannot know."""
    if grammar == "php" and not _is_plain_php(text):
        return None
    return min(list_faults(grammar, text), key=lambda fault: fault.line, default=None)


def list_faults(grammar: str, text: str) -> Iterator[SyntaxFault]:
    """What a grammar cannot read, and what it reads as if it were there."""
    root = SgRoot(text.replace("\r\n", "\n"), grammar).root()
    yield from map(_describe_error, root.find_all(kind="ERROR"))
    yield from (_describe_missing(node) for node in root.find_all(regex="^$") if node.is_leaf() and not node.is_named())


def find_new_fault(path: str, base: str | None, head: str, changed: Sequence[int]) -> SyntaxFault | None:
    """The first syntax error of a file, unless it could not be parsed before either.

    :param base: its text before; None if that does not matter.
    :param changed: lines of the head that are new, or follow removed ones, from 1.
    """
    form, grammar = find_format(path), find_grammar(path)
    find = partial(find_data_fault, form) if form else partial(find_fault, grammar or "")
    fault = find(head)
    if fault is None or (base is not None and find(base) is not None):
        return None
    return fault if form else find_cause(grammar or "", head, fault, changed)


def find_cause(grammar: str, text: str, fault: SyntaxFault, changed: Sequence[int]) -> SyntaxFault:
    """The fault of a program that could be parsed before, at the changed line that breaks it.

    That is the last one without which the program can be parsed.

    :param changed: lines of the program that are new, or follow removed ones, from 1.
    """
    if fault.is_placed:
        return fault
    lines = text.split("\n")
    for line in sorted(changed, reverse=True)[: max(3, _MOST_PARSED // max(len(text), 1))]:
        rest = [*lines[: line - 1], "", *lines[line:]]
        if lines[line - 1 : line] != [""] and find_fault(grammar, "\n".join(rest)) is None:
            return replace(
                fault, line=line, text="the code cannot be parsed from here, perhaps a bracket or an end is missing"
            )
    return fault


def _is_plain_php(text: str) -> bool:
    """Whether a file is PHP from its beginning to its end: the grammar does not know the text around it."""
    return text.lstrip("\ufeff").startswith(_PHP_ONLY) and "?>" not in text.rstrip().removesuffix("?>")


def _describe_error(node: SgNode) -> SyntaxFault:
    """An error that spans many lines mostly comes from a bracket or a block that is not closed."""
    place = node.range()
    if place.end.line > place.start.line:
        why = "the code from here cannot be parsed; perhaps a bracket is missing"
        return SyntaxFault(place.start.line + 1, why, False)
    text = " ".join(node.text().replace("`", "'").split())
    return SyntaxFault(place.start.line + 1, f"unexpected `{cut_text(text, 40)}`")


def _describe_missing(node: SgNode) -> SyntaxFault:
    return SyntaxFault(node.range().start.line + 1, f"`{node.kind()}` is missing")


def find_broken(path: str, before: str, after: Sequence[str]) -> list[str]:
    """Those of some new contents that cannot be parsed although the file could: by the same parser, the strictest."""
    for parse in _list_parsers(path):
        if parse(before):
            return [text for text in after if not parse(text)]
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


def prepare() -> None:
    """Load what is loaded late."""
    for path, text in (("a.py", "a = 1"), ("a.json", "1"), ("a.toml", "a = 1"), ("a.js", "a(")):
        find_broken(path, text, [text])
