"""Decides whether the parts of a condition go together: known names, values of one kind, patterns that work."""

import difflib
from collections.abc import Iterator
from typing import NoReturn

from domain import globs
from domain.config.conditions.names import FLAG, NAMES, NUMBER, TEXT, Kind, Type
from domain.config.conditions.syntax import (
    Comparison,
    ConditionError,
    Literal,
    Matches,
    Name,
    Node,
    Not,
    Together,
    Values,
    quoted,
    written,
)

_TEXTUAL = {Kind.text, Kind.login}


def check(node: Node) -> None:
    """Refuse what is not true or false, or has a part that makes no sense.

    :raises ConditionError: with what is wrong.
    """
    kind = type_of(node).kind
    if kind is not Kind.flag:
        what = f"takes {_code(node)}, {kind.value}, for true or false"
        raise ConditionError(what, "a comparison such as `review.lines_changed > 500`")


def type_of(node: Node) -> Type:
    """The type of a part, whose own parts make sense.

    :raises ConditionError: if they do not.
    """
    match node:
        case Literal(value):
            return FLAG if isinstance(value, bool) else TEXT if isinstance(value, str) else NUMBER
        case Name(name):
            return NAMES[name].type if name in NAMES else _unknown(name)
        case Values():
            raise ConditionError(f"has the list {_code(node)} in a place for one value", "a list after `in`")
        case Comparison():
            _check_comparison(node)
        case Matches():
            _check_matches(node)
        case Not(inner):
            check(inner)
        case Together(_, parts):
            for part in parts:
                check(part)
    return FLAG


def pairs(node: Comparison) -> Iterator[tuple[Node, str, Node]]:
    """What is compared with what: a chain holds if all its pairs do."""
    return zip(node.operands, node.operators, node.operands[1:], strict=False)


def common(left: Node, right: Node) -> Type:
    """The type as which two parts are compared.

    :raises ConditionError: if they cannot be.
    """
    one, other = type_of(left), type_of(right)
    if Kind.texts in {one.kind, other.kind} or (one.kind != other.kind and {one.kind, other.kind} != _TEXTUAL):
        what = f"compares {_code(left)}, {one.kind.value}, with {_code(right)}, {other.kind.value}"
        raise ConditionError(what, "values of the same kind on both sides")
    if isinstance(left, Literal):
        return _fitting(left, other)
    if isinstance(right, Literal):
        return _fitting(right, one)
    if one != other:
        raise ConditionError(f"compares {_code(left)} with {_code(right)}", "names that can have the same values")
    return one


def _unknown(name: str) -> NoReturn:
    section = name.partition(".")[0]
    siblings = [known for known in NAMES if known.startswith(f"{section}.")] or list(NAMES)
    nearest = difflib.get_close_matches(name, [*NAMES, "true", "false"], 1)
    allowed = ", ".join(f"`{known}`" for known in siblings)
    raise ConditionError(f"names {quoted(name)}, which Forge does not know", allowed, "".join(nearest))


def _check_comparison(node: Comparison) -> None:
    for left, sign, right in pairs(node):
        if sign in {"in", "not in"}:
            _check_membership(left, right)
        elif sign in {"==", "!="}:
            common(left, right)
        else:
            _check_order(left, sign, right)


def _check_order(left: Node, sign: str, right: Node) -> None:
    shared = common(left, right)
    if not shared.ordered and shared.kind is not Kind.number:
        what = f"puts {_code(left)} and {_code(right)} in order with `{sign}`"
        raise ConditionError(what, "numbers and risk levels in order; `==`, `!=`, `in` and `not in` for the rest")


def _check_membership(left: Node, right: Node) -> None:
    if isinstance(right, Values):
        for item in right.items:
            common(left, item)
    elif type_of(right).kind is not Kind.texts:
        what = f"looks for something in {_code(right)}, which is no list"
        raise ConditionError(what, 'a list such as `["low", "medium"]` after `in`')
    elif type_of(left).kind not in _TEXTUAL:
        raise ConditionError(f"looks for {_code(left)} in {_code(right)}", "text in a list of texts")


def _fitting(literal: Literal, wanted: Type) -> Type:
    """The type, if the literal is one of its choices."""
    if wanted.choices and literal.value not in wanted.choices:
        nearest = difflib.get_close_matches(str(literal.value), wanted.choices, 1)
        allowed = ", ".join(f"`{choice}`" for choice in wanted.choices)
        raise ConditionError(f"compares with {_code(literal)}, which is never the case", allowed, "".join(nearest))
    return wanted


def _check_matches(node: Matches) -> None:
    if type_of(node.name).kind is not Kind.texts:
        raise ConditionError(f"matches {_code(node.name)} with patterns", "`review.paths`")
    for pattern in node.patterns:
        wrong = globs.mistake(pattern)
        if wrong is not None:
            raise ConditionError(f"has the pattern {quoted(pattern)}, which {wrong}", "patterns such as `db/**`")


def _code(node: Node) -> str:
    """A part as it was written, as inline code."""
    return quoted(written(node))
