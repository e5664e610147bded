"""Reads the part of GraphQL that is served here: fields, aliases, arguments and variables."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

_TOKEN = re.compile(
    r'\s*(?:#[^\n]*\n\s*|,\s*)*(\.\.\.|"(?:[^"\\]|\\.)*"|[A-Za-z_]\w*|-?\d+(?:\.\d+)?|[!$(){}:=@\[\]|])'
)


class QueryError(Exception):
    """The query cannot be read or asks for what is not served."""


@dataclass
class Field:
    name: str
    alias: str
    arguments: dict[str, Any] = field(default_factory=dict[str, Any])
    fields: list[Field] = field(default_factory=list["Field"])


@dataclass
class Operation:
    kind: str
    fields: list[Field]


def parse(text: str, variables: Mapping[str, Any]) -> Operation:
    return _Parser(text, variables).operation()


class _Parser:
    def __init__(self, text: str, variables: Mapping[str, Any]) -> None:
        self.tokens = _tokens(text)
        self.index = 0
        self.variables = dict(variables)

    def peek(self) -> str:
        return self.tokens[self.index] if self.index < len(self.tokens) else ""

    def take(self, expected: str | None = None) -> str:
        token = self.peek()
        if not token or (expected is not None and token != expected):
            raise QueryError(f"Parse error on {token!r}, expected {expected!r}")
        self.index += 1
        return token

    def operation(self) -> Operation:
        kind = "query"
        if self.peek() in ("query", "mutation"):
            kind = self.take()
            if self.peek() not in ("(", "{"):
                self.take()
            if self.peek() == "(":
                self._definitions()
        return Operation(kind, self._selection())

    def _definitions(self) -> None:
        """Variable definitions: only their default values matter."""
        name = ""
        self.take("(")
        while self.peek() != ")":
            token = self.take()
            if token == "$":
                name = self.take()
            elif token == "=":
                self.variables.setdefault(name, self._value())
        self.take(")")

    def _selection(self) -> list[Field]:
        fields: list[Field] = []
        self.take("{")
        while self.peek() != "}":
            if self.peek() == "...":
                fields += self._inline_fragment()
            else:
                fields.append(self._field())
        self.take("}")
        return fields

    def _inline_fragment(self) -> list[Field]:
        self.take("...")
        if self.peek() != "on":
            raise QueryError("Named fragments are not supported")
        self.take("on")
        self.take()
        return self._selection()

    def _field(self) -> Field:
        name = alias = self.take()
        if self.peek() == ":":
            self.take(":")
            name = self.take()
        arguments = self._arguments() if self.peek() == "(" else {}
        return Field(name, alias, arguments, self._selection() if self.peek() == "{" else [])

    def _arguments(self) -> dict[str, Any]:
        arguments: dict[str, Any] = {}
        self.take("(")
        while self.peek() != ")":
            name = self.take()
            self.take(":")
            arguments[name] = self._value()
        self.take(")")
        return arguments

    def _value(self) -> Any:
        token = self.take()
        if token == "$":
            return self.variables.get(self.take())
        if token == "{":
            return self._object()
        if token == "[":
            items: list[Any] = []
            while self.peek() != "]":
                items.append(self._value())
            self.take("]")
            return items
        return _scalar(token)

    def _object(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        while self.peek() != "}":
            name = self.take()
            self.take(":")
            found[name] = self._value()
        self.take("}")
        return found


def _scalar(token: str) -> Any:
    if token.startswith('"'):
        return token[1:-1].replace('\\"', '"').replace("\\\\", "\\")
    if re.fullmatch(r"-?\d+", token):
        return int(token)
    return {"true": True, "false": False, "null": None}.get(token, token)


def _tokens(text: str) -> list[str]:
    tokens: list[str] = []
    index, end = 0, len(text.rstrip())
    while index < end:
        found = _TOKEN.match(text, index)
        if found is None:
            raise QueryError(f"Parse error near {text[index : index + 20]!r}")
        tokens.append(found[1])
        index = found.end()
    return tokens
