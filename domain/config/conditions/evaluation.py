"""Decides whether the condition of a gate holds, from what is known at that moment.

Unknown values make a condition true unless it is false for every possible value, so that Forge asks a person
rather than skipping the question.
"""

import operator
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from domain import globs
from domain.config.conditions import syntax, types
from domain.config.conditions.names import ASKED, NAMES, TEXT, Context, Value, ValueKind, ValueType, find_value
from domain.config.conditions.syntax import (
    LONGEST,
    BooleanOperation,
    Comparison,
    ConditionError,
    ListLiteral,
    Literal,
    Matches,
    Name,
    Node,
    Not,
    unparse,
    unparse_value,
)
from domain.runs.run import Phase
from domain.verdicts import Reason

__all__ = ["ASKED", "LONGEST", "NAMES", "Condition", "ConditionError", "Context", "Value", "parse"]


@dataclass(frozen=True)
class Condition:
    """A valid condition. See :func:`parse`."""

    text: str
    tree: Node

    @property
    def names(self) -> frozenset[str]:
        """The names it uses."""
        return frozenset(_names(self.tree))

    @property
    def phases(self) -> frozenset[Phase]:
        """The phases in which all of its names are known."""
        every = [NAMES[name].phases for name in self.names]
        return frozenset(Phase).intersection(*every)

    def holds(self, context: Context) -> tuple[bool, Reason]:
        """Whether it is true, and why: each part with its values.

        It is also true if that depends on an unknown value; the reason says so.

        :param context: known values by name. A value of the wrong type counts as unknown.
        """
        judged = _evaluate(self.tree, context)
        if judged.held is not None:
            return judged.held, judged.reason
        missing = sorted(name for name in self.names if find_value(name, context) is None)
        text = f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} not known yet, so a person is asked"
        return True, Reason(code="condition.unknown", text=text, children=(judged.reason,))


def parse(text: str) -> Condition:
    """Parses a condition.

    :raises ConditionError: for a syntax error, an unknown name, or an impossible comparison.
    """
    tree = syntax.parse(text)
    types.check(tree)
    return Condition(text, tree)


def _names(node: Node) -> Iterator[str]:
    match node:
        case Name(name) | Matches(Name(name)):
            yield name
        case Comparison(parts) | BooleanOperation(_, parts):
            for part in parts:
                yield from _names(part)
        case Not(inner):
            yield from _names(inner)
        case Literal() | ListLiteral():
            pass


_ORDER: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
_CODES = {True: "condition.holds", False: "condition.fails", None: "condition.unknown"}
_ENDINGS = {True: "", False: ": does not hold", None: ": cannot be known yet"}


@dataclass(frozen=True)
class _Evaluation:
    """The result of a part; ``held`` is None if unknown, ``shown`` has its values."""

    held: bool | None
    shown: str
    parts: "tuple[_Evaluation, ...]" = ()
    value: float | None = None
    threshold: float | None = None

    @property
    def reason(self) -> Reason:
        return Reason(
            code=_CODES[self.held],
            text=self.shown + _ENDINGS[self.held],
            value=self.value,
            threshold=self.threshold,
            children=tuple(part.reason for part in self.parts),
        )


def _evaluate(node: Node, context: Context) -> _Evaluation:
    match node:
        case Comparison():
            return _evaluate_comparison(node, context)
        case Matches():
            return _evaluate_matches(node, context)
        case Not(inner):
            part = _evaluate(inner, context)
            shown = f"({part.shown})" if isinstance(inner, Comparison | BooleanOperation) else part.shown
            return _Evaluation(_negate(part.held), f"not {shown}", (part,))
        case BooleanOperation(word, inner):
            parts = tuple(_evaluate(part, context) for part in inner)
            return _Evaluation(_combine(word, parts), f" {word} ".join(map(_parenthesize, parts)), parts)
        case _:
            value, shown = _evaluate_operand(node, context)
            return _Evaluation(None if value is None else bool(value), shown)


def _combine(word: str, parts: Iterable[_Evaluation]) -> bool | None:
    held = [part.held for part in parts]
    return _all(held) if word == "and" else _negate(_all(map(_negate, held)))


def _all(held: Iterable[bool | None]) -> bool | None:
    """Kleene's ``and``: one false part decides, whatever the unknown ones are."""
    seen = set(held)
    return False if False in seen else None if None in seen else True


def _negate(held: bool | None) -> bool | None:
    return None if held is None else not held


def _parenthesize(part: _Evaluation) -> str:
    return f"({part.shown})" if len(part.parts) > 1 else part.shown


def _evaluate_comparison(node: Comparison, context: Context) -> _Evaluation:
    values, shown = zip(*(_evaluate_operand(part, context) for part in node.operands), strict=True)
    steps = zip(types.pairs(node), values, values[1:], strict=False)
    held = _all([_compare(pair, one, other) for pair, one, other in steps])
    text = shown[0] + "".join(f" {sign} {part}" for sign, part in zip(node.operators, shown[1:], strict=True))
    measured = map(_as_float, values) if len(values) == 2 else (None, None)
    return _Evaluation(held, text, (), *measured)


def _compare(pair: tuple[Node, str, Node], one: Value | None, other: Value | None) -> bool | None:
    left, sign, right = pair
    if one is None or other is None:
        return None
    if isinstance(other, tuple):
        wanted = types.type_of(left) if isinstance(right, ListLiteral) else TEXT
        inside = _comparison_key(one, wanted) in [_comparison_key(item, wanted) for item in other]
        return inside is (sign == "in")
    wanted = types.common_type(left, right)
    return _ORDER[sign](_comparison_key(one, wanted), _comparison_key(other, wanted))


def _evaluate_operand(node: Node, context: Context) -> tuple[Value | None, str]:
    """The value of a part of a comparison, and the part with it."""
    match node:
        case Literal(value):
            return value, unparse_value(value)
        case ListLiteral(items):
            return tuple(item.value for item in items), unparse(node)
        case Name(name):
            value = find_value(name, context)
            return value, f"{name} ({_show_value(value)})"
        case _:
            judged = _evaluate(node, context)
            return judged.held, f"({judged.shown})"


def _comparison_key(value: object, wanted: ValueType) -> object:
    """The comparable form: the rank of a level, a login without case."""
    if wanted.ordered:
        return wanted.choices.index(str(value))
    return str(value).removeprefix("@").casefold() if wanted.kind is ValueKind.login else value


def _evaluate_matches(node: Matches, context: Context) -> _Evaluation:
    paths = find_value(node.name.name, context)
    if not isinstance(paths, tuple):
        return _Evaluation(None, f"{unparse(node)} ({_show_value(None)})")
    hits = [path for path in paths if globs.matches(str(path), node.patterns)]
    more = f" and {len(hits) - 1} more" if len(hits) > 1 else ""
    return _Evaluation(bool(hits), f"{unparse(node)} ({unparse_value(hits[0]) + more if hits else 'none'})")


def _show_value(value: Value | None) -> str:
    """A value as it is shown beside its name."""
    if isinstance(value, tuple):
        return f"{len(value)} of them"
    return "not known yet" if value is None else unparse_value(value)


def _as_float(value: Value | None) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
