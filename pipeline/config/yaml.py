"""Reads the subset of YAML that a configuration needs, with the position of each key and value.

Scalars are those of YAML 1.2: ``yes`` is text. Tags, anchors, aliases, merge keys and further documents are mistakes,
so a file can construct no objects, grow no larger than it is, and not refer to itself.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from pydantic import JsonValue
from ruamel.yaml import YAML
from ruamel.yaml.events import (
    AliasEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    StreamEndEvent,
)

from domain.config.values import Mistake, to_dotted_path

MAX_BYTES = 64 * 1024  # bytes
MAX_DEPTH = 10  # sections and lists within each other; the configuration needs 5
MAX_VALUES = 5000

_NULL = {"", "~", "null", "Null", "NULL"}
_TRUE = {"true", "True", "TRUE"}
_FALSE = {"false", "False", "FALSE"}
_WHOLE = re.compile(r"[-+]?[0-9]{1,18}")
_NUMBER = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_BASED = re.compile(r"0o[0-7]{1,18}|0x[0-9a-fA-F]{1,15}")
_ENDLESS = re.compile(r"([-+]?)\.(inf|Inf|INF)")
_UNWANTED = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")

Path = tuple[str | int, ...]

YamlValue = JsonValue
"""A scalar, list or mapping with text keys: the values of YAML that JSON has."""


@dataclass(frozen=True)
class Position:
    """A place in the file, both 1-based."""

    line: int
    column: int


@dataclass
class Tree:
    """The content of a file.

    :param value: without the parts that are mistakes.
    """

    value: YamlValue = None
    mistakes: list[Mistake] = field(default_factory=list[Mistake])
    keys: dict[Path, Position] = field(default_factory=dict[Path, Position])
    values: dict[Path, Position] = field(default_factory=dict[Path, Position])

    def find_position(self, path: Path, *, key: bool = False) -> Position:
        """The position of a value, or of its key, or of the nearest section around it."""
        first, second = (self.keys, self.values) if key else (self.values, self.keys)
        while path:
            found = first.get(path) or second.get(path)
            if found is not None:
                return found
            path = path[:-1]
        return Position(1, 1)


class _Unreadable(Exception):
    """The file cannot be read any further."""

    def __init__(self, index: int, what: str) -> None:
        super().__init__(what)
        self.index = index
        self.what = what


class _Invalid:
    """In place of a value that is a mistake."""


_INVALID = _Invalid()


def read_yaml(content: bytes) -> Tree:
    """The content of a file, with all mistakes that do not depend on its schema."""
    if len(content) > MAX_BYTES:
        return Tree(mistakes=[Mistake(1, 1, "", f"is larger than {MAX_BYTES // 1024} KB")])
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        return Tree(mistakes=[Mistake(line, 1, "", "is not in UTF-8")])
    reader = _Reader(text)
    try:
        reader.read()
    except _Unreadable as error:
        reader.add_mistake(error.index, (), error.what)
    except Exception as error:  # whatever the parser raises, the file is wrong
        reader.add_mistake(*_explain_failure(error, text))
    return reader.tree


class _Reader:
    """Builds the tree from the events of the parser."""

    def __init__(self, text: str) -> None:
        self.tree = Tree()
        self._text = text
        yaml: Any = YAML(typ="safe", pure=True)  # untyped
        self._events: Iterator[Any] = yaml.parse(text)
        self._count = 0
        self._depth = 0

    def read(self) -> None:
        next(self._events)  # the stream starts
        if _is_event(next(self._events), StreamEndEvent):
            return
        value = self._read_value(next(self._events), ())
        next(self._events)  # the document ends
        after = next(self._events)
        if not _is_event(after, StreamEndEvent):
            self.add_mistake(after.start_mark.index, (), "holds a second document, and one is all it can hold")
        self.tree.value = None if isinstance(value, _Invalid) else value

    def add_mistake(self, index: int, path: Path, what: str) -> None:
        spot = self._to_position(index)
        self.tree.mistakes.append(Mistake(spot.line, spot.column, to_dotted_path(path), what))

    def _to_position(self, index: int) -> Position:
        """Counts lines as GitHub does; the parser knows more kinds of line breaks."""
        return Position(self._text.count("\n", 0, index) + 1, index - self._text.rfind("\n", 0, index))

    def _read_value(self, event: Any, path: Path) -> YamlValue | _Invalid:
        self._count += 1
        if self._count > MAX_VALUES:
            raise _Unreadable(event.start_mark.index, f"holds more than {MAX_VALUES:,} values")
        if self._depth > MAX_DEPTH:
            raise _Unreadable(event.start_mark.index, f"is nested more than {MAX_DEPTH} deep")
        self.tree.values[path] = self._to_position(event.start_mark.index)
        if _is_event(event, AliasEvent):
            self.add_mistake(event.start_mark.index, path, "is an alias (`*`), which is not understood here; repeat it")
            return _INVALID
        self._depth += 1
        value = self._read_content(event, path)
        self._depth -= 1
        if event.anchor is not None:
            self.add_mistake(event.start_mark.index, path, "has an anchor (`&`), which is not understood here")
        if event.tag is not None:
            self.add_mistake(event.start_mark.index, path, "has a tag (`!`), which is not understood here")
            return _INVALID
        return value

    def _read_content(self, event: Any, path: Path) -> YamlValue | _Invalid:
        if _is_event(event, MappingStartEvent):
            return self._read_mapping(path)
        if _is_event(event, ScalarEvent):
            return self._read_scalar(event, path)
        return self._read_list(path)

    def _read_list(self, path: Path) -> YamlValue:
        items: list[YamlValue] = []
        for position, event in enumerate(iter(self._events.__next__, None)):
            if _is_event(event, SequenceEndEvent):
                break
            value = self._read_value(event, (*path, position))
            items.append(None if isinstance(value, _Invalid) else value)
        return items

    def _read_mapping(self, path: Path) -> YamlValue:
        found: dict[str, YamlValue] = {}
        while not _is_event(event := next(self._events), MappingEndEvent):
            index = event.start_mark.index
            key = self._read_key(event, path)
            place = path if key is None else (*path, key)
            first = self.tree.keys.setdefault(place, self._to_position(index)) if key is not None else None
            value = self._read_value(next(self._events), place)
            if key is None or isinstance(value, _Invalid):
                continue
            if key in found and first is not None:
                self.add_mistake(index, place, f"stands here a second time; the first is in line {first.line}")
            else:
                found[key] = value
        return found

    def _read_key(self, event: Any, path: Path) -> str | None:
        """The text of a key; None, and a mistake is added, if it is none."""
        index = event.start_mark.index
        if not _is_event(event, ScalarEvent):
            self._read_value(event, path)
            self.add_mistake(index, path, "has a key that is not text; put quotation marks around braces and brackets")
            return None
        key: str = event.value
        if event.anchor is not None or event.tag is not None:
            self.add_mistake(index, path, "has a key with an anchor or a tag, which is not understood here")
            return None
        if key == "<<" and event.style is None:
            self.add_mistake(index, path, "has a merge key (`<<`), which is not understood here")
            return None
        if len(key) > 100 or _UNWANTED.search(key):
            self.add_mistake(index, path, "has a key that is too long or holds control characters")
            return None
        return key

    def _read_scalar(self, event: Any, path: Path) -> YamlValue | _Invalid:
        text: str = event.value
        if _UNWANTED.search(text):
            self.add_mistake(event.start_mark.index, path, "holds a control character or half of a character")
            return _INVALID
        return _parse_plain(text) if event.style is None else text


def _parse_plain(text: str) -> YamlValue:
    """The value of a plain scalar in the core schema of YAML 1.2."""
    if text in _NULL:
        return None
    if text in _TRUE or text in _FALSE:
        return text in _TRUE
    if _WHOLE.fullmatch(text):
        return int(text)
    if _BASED.fullmatch(text):
        return int(text, 0)
    if _NUMBER.fullmatch(text):
        return float(text)
    endless = _ENDLESS.fullmatch(text)
    if endless is not None:
        return -math.inf if endless.group(1) == "-" else math.inf
    return math.nan if text in {".nan", ".NaN", ".NAN"} else text


def _is_event(event: Any, kind: type) -> bool:
    """The classes of the events carry no types."""
    return isinstance(event, kind)


def _explain_failure(error: Exception, text: str) -> tuple[int, Path, str]:
    """Where and why the parser failed."""
    mark: Any = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    position: Any = getattr(error, "position", None)
    if mark is None:
        index = position if isinstance(position, int) else 0
        return index, (), "is not valid YAML: it holds a character that is not allowed"
    index = int(mark.index)
    if text[index : index + 1] == "\t":
        return index, (), "is not valid YAML here: a tab cannot indent, use spaces"
    if text[index : index + 1] in {"@", "`"}:
        return index, (), f"is not valid YAML here: put quotation marks around text that begins with {text[index]}"
    reason = str(getattr(error, "problem", None) or "it cannot be read")
    return index, (), f"is not valid YAML here: {reason}"
