"""The parts that shapes of dangerous code in several languages are made of."""

from collections.abc import Mapping
from typing import Any

Shape = Mapping[str, Any]
"""A rule of ast-grep: kinds, patterns and relations of nodes."""

_WORDS = r"(?i)\b(select|insert|update|delete|replace|where|having|merge|values|like|and|or|from|join|limit|by)\b|[=<>]"


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


def put_together(*kinds: str) -> Shape:
    """Text that may be put together, and may be SQL.

    :param kinds: of the expressions that give such a text, as the grammar names them.
    """
    return both(either(*({"kind": kind} for kind in kinds)), {"regex": _WORDS})
