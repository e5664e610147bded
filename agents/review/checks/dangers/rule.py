"""One rule for dangerous code, and the parts that rules of several languages are made of."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ast_grep_py import SgNode

from agents.review.checks.rule_texts import Danger

Shape = Mapping[str, Any]
"""A rule of ast-grep: kinds, patterns and relations of nodes."""

Grade = Callable[[SgNode], Danger | None]
"""Looks closer at a match: which danger it is, or none."""


@dataclass(frozen=True)
class DangerRule:
    """An entry of the tables.

    :param rule: full rule id.
    :param grammars: the names of the languages in ast-grep.
    :param danger: what it is, where nobody looks closer.
    :param message: what is wrong, why it matters, and what to do.
    :param shape: what it looks like.
    :param grade: looks closer, where one shape is of several dangers.
    :param silenced_by: the number of bandit's rule about the same, by which comments silence it.
    """

    rule: str
    grammars: tuple[str, ...]
    danger: Danger
    message: str
    shape: Shape
    grade: Grade | None = None
    silenced_by: str = ""
    help_url: str | None = None


def either(*shapes: Shape) -> Shape:
    """Any of several shapes."""
    return {"any": list(shapes)}


def both(*shapes: Shape) -> Shape:
    """All of several shapes at once."""
    return {"all": list(shapes)}


def pattern(*texts: str) -> Shape:
    """Code as it is written, with ``$X`` for any expression; any of several."""
    return either(*({"pattern": text} for text in texts))


def inside(shape: Shape) -> Shape:
    """A node that has this shape somewhere below it."""
    return {"has": {**shape, "stopBy": "end"}}


def call(kind: str, field: str, name: str, argument: Shape) -> Shape:
    """A call of a function by its name, with an argument of some shape.

    :param kind: how the grammar names a call.
    :param field: how it names the called function.
    :param name: regular expression.
    """
    return both(
        {"kind": kind}, {"has": {"field": field, "regex": name}}, {"has": {"field": "arguments", "has": dict(argument)}}
    )


def concatenate(operation: str, *parts: str) -> Shape:
    """Text that is put together from a value that is no literal.

    :param operation: how the grammar names an operation with two sides.
    :param parts: kinds of what is no literal.
    """
    values = either(*({"kind": part} for part in parts))
    return both({"kind": operation}, {"regex": "[\"'`]"}, inside(values))
