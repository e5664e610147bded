"""Reads calls in the lines of a Python file: what is called with what, and where that comes from."""

import re
from collections.abc import Sequence
from functools import cached_property

_MOST_LINES = 20  # of a call
_FURTHEST = 80  # lines back to what a name was given
_FOREIGN = re.compile(
    r"\b(request|req|argv|input\(|raw_input\(|query_params|querystring|query_string|GET\b|POST\b|cookies?|headers|recv"
    r"|stdin|payload|form\[|form\.|body\b|user_input)"
)
_FROM_FILE = re.compile(r"\bopen\(|\.read\(\)|\.read_(text|bytes)\(|read_file\(")
_LITERAL = re.compile(r"^[rRbBuU]{0,2}(\"\"\"|'''|\"|')(?:(?!\1).|\\.)*\1$", re.DOTALL)
_PUT_TOGETHER = re.compile(
    r"^[rR]?[fF][rR]?[\"'](?:(?!\{).)+\{(?!\{)|[\"']\s*(?:\+|%)|[\"']\.format\(|^[^\"']+\+[^\"']*[\"'][^+]*\+",
    re.DOTALL,
)
_FILE = re.compile(
    r"(?i)^(?:f|fp|fd|fh|fin|fileobj|(?:\w*_)?(?:file|stream|handle|reader)(?:_?(?:obj|handle|name|path))?)$"
)
_NAME = re.compile(r"^[A-Za-z_]\w*$")


def is_foreign(text: str) -> bool:
    """Whether an expression names what people or machines outside sent."""
    return _FOREIGN.search(text) is not None


def is_literal(text: str) -> bool:
    """Whether an expression is a text that stands in the program."""
    return _LITERAL.match(text) is not None


def is_put_together(text: str) -> bool:
    """Whether an expression puts something into a text, behind its beginning."""
    return _PUT_TOGETHER.search(text) is not None


def is_file(text: str) -> bool:
    """Whether an expression is named like an open file."""
    return _FILE.search(text) is not None


def is_read_from_a_file(text: str) -> bool:
    """Whether an expression reads a file."""
    return _FROM_FILE.search(text) is not None


class PythonCall:
    """A call of a file.

    :param lines: of the file.
    :param row: the line on which it begins, from 1. ``column``: likewise.
    """

    def __init__(self, lines: Sequence[str], row: int, column: int) -> None:
        self._lines = lines
        self._row = row
        some = "\n".join(lines[row - 1 : row - 1 + _MOST_LINES])
        self._rest = some[column - 1 :]

    def enclose(self, name: str) -> "PythonCall":
        """The call of this name whose argument begins here, or this one."""
        for row in range(self._row, max(self._row - _MOST_LINES, 0), -1):
            found = re.search(rf"[\w.]*\b{name}\s*\(", self._lines[row - 1])
            if found is not None:
                return PythonCall(self._lines, row, found.start() + 1)
        return self

    @cached_property
    def text(self) -> str:
        """The whole call, as it is written."""
        return self._rest[: _find_end(self._rest)]

    @property
    def name(self) -> str:
        """What is called."""
        return self.text.partition("(")[0].strip()

    @cached_property
    def argument(self) -> str:
        """The first argument."""
        inner = self.text.partition("(")[2].removesuffix(")")
        return inner[: _find_end(inner, ",")].strip().rstrip(",").strip()

    def list_from_outside(self) -> list[str]:
        """The names in the first argument that come from outside."""
        names = dict.fromkeys(re.findall(r"(?<![\w.])[A-Za-z_]\w*", self.argument))
        return [name for name in names if name not in ("self", "cls", "f") and self.comes_from_outside(name)]

    def comes_from_outside(self, text: str) -> bool:
        """Whether an expression is a parameter of the function around, or was given what comes from outside."""
        if not _NAME.match(text):
            return False
        given = re.compile(rf"^\s*{text}\s*(?::[^=]+)?=(?!=)\s*(?P<what>.*)")
        for at in range(self._row - 2, max(self._row - 2 - _FURTHEST, -1), -1):
            line = self._lines[at]
            if found := given.match(line):
                return is_foreign(found["what"])
            if re.match(r"\s*(async\s+)?def\s", line):
                signature = "\n".join(self._lines[at : at + _MOST_LINES])
                return re.search(rf"[(,*]\s*{text}\s*[,:=)]", signature[: _find_end(signature)]) is not None
        return False


def _find_end(text: str, stop: str = "") -> int:
    """The end of the first thing in brackets, or the first sign to stop at outside of them."""
    depth, quote, at = 0, "", 0
    while at < len(text):
        char = text[at]
        if char == "\\":
            at += 1
        elif quote:
            quote = "" if text.startswith(quote, at) else quote
        elif char in "\"'":
            quote = char
        elif char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
            if depth == 0 and not stop:
                return at + 1
        elif char == stop and depth == 0:
            return at
        at += 1
    return len(text)
