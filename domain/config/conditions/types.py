"""Checks the types of a condition: known names, comparable values, valid patterns."""

import difflib
from collections.abc import Iterator
from typing import NoReturn

from domain import globs
from domain.config.conditions.names import FLAG, NAMES, NUMBER, TEXT, ValueKind, ValueType
from domain.config.conditions.syntax import (
    BooleanOperation,
    Comparison,
    ConditionError,
    ListLiteral,
    Literal,
    Matches,
    Name,
    Node,
    Not,
    quote,
    unparse,
)

_TEXTUAL = {ValueKind.text, ValueKind.login}


def check(node: Node) -> None:
    """Refuses a condition that is not boolean or has an invalid part.

    :raises ConditionError: with what is wrong.
    """
    kind = type_of(node).kind
    if kind is not ValueKind.flag:
        what = f"takes {_code(node)}, {kind.value}, for true or false"
        raise ConditionError(what, "a comparison such as `review.lines_changed > 500`")


def type_of(node: Node) -> ValueType:
    """The type of a part; checks its own parts.

    :raises ConditionError: if they do not.
    """
    match node:
        case Literal(value):
            return FLAG if isinstance(value, bool) else TEXT if isinstance(value, str) else NUMBER
        case Name(name):
            return NAMES[name].type if name in NAMES else _refuse_unknown(name)
        case ListLiteral():
            raise ConditionError(f"has the list {_code(node)} in a place for one value", "a list after `in`")
        case Comparison():
            _check_comparison(node)
        case Matches():
            _check_matches(node)
        case Not(inner):
            check(inner)
        case BooleanOperation(_, parts):
            for part in parts:
                check(part)
    return FLAG


def pairs(node: Comparison) -> Iterator[tuple[Node, str, Node]]:
    """The compared pairs; a chain is true if all of them are."""
    return zip(node.operands, node.operators, node.operands[1:], strict=False)


def common_type(left: Node, right: Node) -> ValueType:
    """The common type of two compared parts.

    :raises ConditionError: if they cannot be.
    """
    one, other = type_of(left), type_of(right)
    if ValueKind.texts in {one.kind, other.kind} or (one.kind != other.kind and {one.kind, other.kind} != _TEXTUAL):
        what = f"compares {_code(left)}, {one.kind.value}, with {_code(right)}, {other.kind.value}"
        raise ConditionError(what, "values of the same kind on both sides")
    if isinstance(left, Literal):
        return _check_choice(left, other)
    if isinstance(right, Literal):
        return _check_choice(right, one)
    if one != other:
        raise ConditionError(f"compares {_code(left)} with {_code(right)}", "names that can have the same values")
    return one


def _refuse_unknown(name: str) -> NoReturn:
    section = name.partition(".")[0]
    siblings = [known for known in NAMES if known.startswith(f"{section}.")] or list(NAMES)
    nearest = difflib.get_close_matches(name, [*NAMES, "true", "false"], 1)
    allowed = ", ".join(f"`{known}`" for known in siblings)
    raise ConditionError(f"names {quote(name)}, which Forge does not know", allowed, "".join(nearest))


def _check_comparison(node: Comparison) -> None:
    for left, sign, right in pairs(node):
        if sign in {"in", "not in"}:
            _check_membership(left, right)
        elif sign in {"==", "!="}:
            common_type(left, right)
        else:
            _check_order(left, sign, right)


def _check_order(left: Node, sign: str, right: Node) -> None:
    shared = common_type(left, right)
    if not shared.ordered and shared.kind is not ValueKind.number:
        what = f"puts {_code(left)} and {_code(right)} in order with `{sign}`"
        raise ConditionError(what, "numbers and risk levels in order; `==`, `!=`, `in` and `not in` for the rest")


def _check_membership(left: Node, right: Node) -> None:
    if isinstance(right, ListLiteral):
        for item in right.items:
            common_type(left, item)
    elif type_of(right).kind is not ValueKind.texts:
        what = f"looks for something in {_code(right)}, which is no list"
        raise ConditionError(what, 'a list such as `["low", "medium"]` after `in`')
    elif type_of(left).kind not in _TEXTUAL:
        raise ConditionError(f"looks for {_code(left)} in {_code(right)}", "text in a list of texts")


def _check_choice(literal: Literal, wanted: ValueType) -> ValueType:
    """The type, if the literal is one of its choices."""
    if wanted.choices and literal.value not in wanted.choices:
        nearest = difflib.get_close_matches(str(literal.value), wanted.choices, 1)
        allowed = ", ".join(f"`{choice}`" for choice in wanted.choices)
        raise ConditionError(f"compares with {_code(literal)}, which is never the case", allowed, "".join(nearest))
    return wanted


def _check_matches(node: Matches) -> None:
    if type_of(node.name).kind is not ValueKind.texts:
        raise ConditionError(f"matches {_code(node.name)} with patterns", "`review.paths`")
    for pattern in node.patterns:
        wrong = globs.find_mistake(pattern)
        if wrong is not None:
            raise ConditionError(f"has the pattern {quote(pattern)}, which {wrong}", "patterns such as `db/**`")


def _code(node: Node) -> str:
    """A part as it was written, as inline code."""
    return quote(unparse(node))
