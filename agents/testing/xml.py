"""Reads untrusted XML element by element, with bounds on everything, without document types or entities."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from xml.parsers import expat

from domain.errors import ToolError

MOST_BYTES = 16_000_000
_DEEPEST = 64
_MOST_ELEMENTS = 3_000_000
_KEPT = 10_000  # characters of one element's text, from its beginning and from its end

Start = Callable[[str, Mapping[str, str]], None]
End = Callable[[str, str], None]


def parse_xml(document: bytes, what: str, start: Start, end: End) -> None:
    """Walk through a document.

    :param what: how an error names it, e.g. ``The JUnit report``.
    :param start: called for each element as it opens, with its name (without a namespace) and its attributes.
    :param end: called for each element as it closes, with its name and the text directly in it.
    :raises ToolError: it is not XML, declares a document type, or is too large.
    """
    if len(document) > MOST_BYTES:
        raise ToolError(f"{what} has {len(document):,} bytes; more than {MOST_BYTES:,} are not read.")
    parser = expat.ParserCreate()
    parser.buffer_text = True
    walk = _Walk(what, start, end)
    parser.StartElementHandler = walk.open_element
    parser.EndElementHandler = walk.close_element
    parser.CharacterDataHandler = walk.add_text
    parser.StartDoctypeDeclHandler = walk.refuse
    parser.EntityDeclHandler = walk.refuse
    try:
        parser.Parse(document, True)
    except expat.ExpatError as error:
        raise ToolError(
            f"{what} is not well-formed XML: {expat.ErrorString(error.code)}, line {error.lineno}."
        ) from None
    except (LookupError, ValueError):  # an encoding that Python does not have, or that expat cannot use
        raise ToolError(f"{what} is in an encoding that cannot be read.") from None


@dataclass
class _Open:
    name: str
    text: str = ""


class _Walk:
    """The state of a walk through a document."""

    def __init__(self, what: str, start: Start, end: End) -> None:
        self._what = what
        self._start, self._end = start, end
        self._open: list[_Open] = []
        self._elements = 0

    def open_element(self, name: str, attributes: dict[str, str]) -> None:
        self._elements += 1
        if self._elements > _MOST_ELEMENTS:
            raise ToolError(f"{self._what} has more than {_MOST_ELEMENTS:,} elements.")
        if len(self._open) >= _DEEPEST:
            raise ToolError(f"{self._what} is nested more than {_DEEPEST} elements deep.")
        self._open.append(_Open(name.rpartition(":")[2]))
        self._start(self._open[-1].name, attributes)

    def close_element(self, name: str) -> None:
        element = self._open.pop()
        self._end(element.name, element.text)

    def add_text(self, text: str) -> None:
        element = self._open[-1]
        element.text += text
        if len(element.text) > 3 * _KEPT:
            element.text = f"{element.text[:_KEPT]}\n…\n{element.text[-_KEPT:]}"

    def refuse(self, *_: object) -> None:
        raise ToolError(f"{self._what} declares a document type or entities, which are never read.")


# --- values ------------------------------------------------------------------------------------------------

_TERMINAL = re.compile(r"\x1b\[[0-?]*+[ -/]*+[@-~]?|#x1B\[[0-9;]*m")


def to_one_line(text: str, limit: int) -> str:
    """The beginning of a text as one line of at most ``limit`` characters; invisible ones are escaped."""
    shown = _escape(" ".join(text[: 4 * limit].split()))
    return shown if len(shown) <= limit else shown[: limit - 1] + "…"


def keep_ends(text: str, limit: int) -> str:
    """Beginning and end of a text, at most ``limit`` characters; invisible ones are escaped, line breaks stay."""
    shown = _escape(_cut_middle(text.strip(), 4 * limit))
    return _cut_middle(shown, limit)


def join_names(names: Iterable[str], limit: int) -> str:
    """The id of a test of its names, on one line; those that differ in spaces only stay two tests."""
    whole = "::".join(filter(None, names))
    return keep_ends(re.sub(r"[^\S ]", " ", whole[:100_000]), limit) or "unnamed"


def _cut_middle(text: str, limit: int) -> str:
    half = (limit - 1) // 2
    return text if len(text) <= limit else f"{text[:half]}…{text[-half:]}"


def _escape(text: str) -> str:
    if text.isprintable():
        return text
    plain = _TERMINAL.sub("", text)
    return "".join(char if char.isprintable() or char in "\n\t" else _escape_char(char) for char in plain)


def parse_number(text: str | None, most: int) -> int | None:
    """A whole number from 0 to ``most``; None for anything else."""
    if text is None or not re.fullmatch(r"[0-9]{1,9}", text, re.ASCII):
        return None
    value = int(text)
    return value if value <= most else None


def to_repository_path(path: str, root: str, longest: int) -> str | None:
    """The path relative to the repository; None if it leads elsewhere or is no valid name of a file.

    :param root: absolute path of the repository, as the program saw it.
    """
    name = path.removeprefix("file://").removeprefix(root.rstrip("/") + "/")
    if name.startswith(("/", "~")) or "\\" in name or ":" in name[:3] or not name.isprintable() or len(name) > longest:
        return None
    parts: list[str] = []
    for part in name.split("/"):
        if part == "..":
            if not parts:
                return None
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts) or None


def _escape_char(char: str) -> str:
    return char.encode("unicode_escape").decode()
