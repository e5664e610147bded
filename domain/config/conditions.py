"""The conditions of a repository's own gates: an expression of Python, of which only what is named here is taken.

Python's parser reads it, nothing of it is ever executed, and what is not on the list is refused whatever the version of
Python. Unknown values make a condition true unless it is false for every possible value, so that Forge asks a person
rather than skipping the question.
"""

import ast
import difflib
import json
import operator
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any, NoReturn

from domain import globs
from domain.review.review import Decision, RiskLevel
from domain.runs.run import Phase, Trigger
from domain.text.escaping import cut_text
from domain.verdicts import Reason

LONGEST = 300
"""Characters of a condition."""
MAX_DEPTH = 10
"""Parentheses, or ``not``, within each other."""
MAX_WILDCARDS = 20
"""Wildcards ``*`` and ``**`` in all patterns together: matching takes time in proportion to them."""
LANGUAGE = (
    "`and`, `or`, `not`, comparisons, `in`, numbers, text in quotes, `true`, `false`, lists, "
    "`matches(review.paths, …)` and names such as `review.lines_changed`"
)
"""A summary of the language for people."""

Scalar = bool | int | float | str
Fact = Scalar | tuple[Scalar, ...]
"""The values of names and literals."""
Context = Mapping[str, object]
"""Known values by name; missing or None means unknown."""


class ValueKind(StrEnum):
    """The kind of a value, in words for people."""

    number = "a number"
    text = "text"
    login = "a login"  # as GitHub compares them: without regard to case
    flag = "true or false"
    texts = "a list of texts"


@dataclass(frozen=True)
class ValueType:
    """The type of a value.

    :param choices: the only allowed texts; empty: any.
    :param ordered: the choices rise from first to last.
    """

    kind: ValueKind
    choices: tuple[str, ...] = ()
    ordered: bool = False


@dataclass(frozen=True)
class KnownName:
    """A name that a condition may use.

    :param about: its meaning, one sentence.
    """

    name: str
    type: ValueType
    about: str

    @property
    def phases(self) -> frozenset[Phase]:
        """The phases that know it."""
        return _KNOWN_IN[self.name.partition(".")[0]]


_OF_A_PLAN = frozenset({Phase.planning, Phase.implementation, Phase.testing})
ASKED = _OF_A_PLAN | {Phase.review, Phase.deployment}
"""The phases that ask a repository's own gates."""
_KNOWN_IN: Mapping[str, frozenset[Phase]] = {
    "review": frozenset({Phase.review}),
    "plan": _OF_A_PLAN,
    "testing": frozenset({Phase.testing}),
    "deployment": frozenset({Phase.deployment}),
    "run": ASKED,
}
"""By the part of a name before the dot."""

NUMBER, TEXT, LOGIN, FLAG, TEXTS = (ValueType(kind) for kind in ValueKind)
LEVEL = ValueType(ValueKind.text, tuple(RiskLevel), ordered=True)
DECISION = ValueType(ValueKind.text, tuple(Decision))
TRIGGER = ValueType(ValueKind.text, tuple(each for each in Trigger if each is not Trigger.question))

_KNOWN = (
    KnownName("review.lines_changed", NUMBER, "Added and deleted lines."),
    KnownName("review.files_changed", NUMBER, "Changed files."),
    KnownName("review.paths", TEXTS, "Changed paths; of a renamed file both."),
    KnownName("review.risk", NUMBER, "Risk, 0 to 100."),
    KnownName("review.risk_level", LEVEL, "The risk level."),
    KnownName("review.findings", NUMBER, "Findings of any severity."),
    KnownName("review.critical", NUMBER, "Those of severity critical."),
    KnownName("review.errors", NUMBER, "Those of severity error."),
    KnownName("review.warnings", NUMBER, "Those of severity warning."),
    KnownName("review.not_looked_at", NUMBER, "Changed files that matter and were not looked at."),
    KnownName("review.rules", TEXTS, "Their rules, such as `ruff/F821`."),
    KnownName("review.categories", TEXTS, "Their categories, such as `security`."),
    KnownName("review.decision", DECISION, "What the review decided."),
    KnownName("review.from_fork", FLAG, "Whether the head is in a fork."),
    KnownName("review.first_time", FLAG, "Whether it is the author's first contribution here."),
    KnownName("review.author", LOGIN, "Who opened the pull request."),
    KnownName("review.base", TEXT, "The branch it is to be merged into."),
    KnownName("plan.risk_level", LEVEL, "The risk level of the plan."),
    KnownName("plan.tasks", NUMBER, "Tasks of the plan."),
    KnownName("testing.failed", NUMBER, "Tests that failed."),
    KnownName(
        "testing.coverage_delta",
        NUMBER,
        "By how many percentage points coverage changed, such as -2.5; unknown where nothing was compared.",
    ),
    KnownName("deployment.environment", TEXT, "The environment that is deployed to."),
    KnownName("deployment.production", FLAG, "Whether that is production."),
    KnownName("deployment.risk_level", LEVEL, "The risk level of what is deployed; high where it is not known."),
    KnownName("deployment.cause", TEXT, "Why it is deployed: `merge`, `command` or `rollback`."),
    KnownName("run.cost", NUMBER, "What the run has cost so far, in USD."),
    KnownName("run.trigger", TRIGGER, "What asked for the run."),
)
NAMES: Mapping[str, KnownName] = {known.name: known for known in _KNOWN}
"""The whole vocabulary."""


def find_value(name: str, context: Context) -> Fact | None:
    """The current value of a name; None if it is unknown or has the wrong type."""
    value = context.get(name)
    match NAMES[name].type.kind:
        case ValueKind.flag:
            return value if isinstance(value, bool) else None
        case ValueKind.number:
            if isinstance(value, bool) or not isinstance(value, int | float):
                return None
            return value if abs(value) <= sys.float_info.max else None  # this excludes nan as well
        case ValueKind.texts:
            if not isinstance(value, (list, tuple)):
                return None
            items: tuple[object, ...] = tuple(value)
            texts = tuple(str(item) for item in items if isinstance(item, str))
            return texts if len(texts) == len(items) else None
        case ValueKind.text | ValueKind.login:
            choices = NAMES[name].type.choices
            return str(value) if isinstance(value, str) and (not choices or value in choices) else None


class ConditionError(Exception):
    """A condition cannot be used.

    :param what: completes a sentence after the place, without full stop: ``is empty``.
    :param allowed: what is allowed there, in a few words.
    :param nearest: the closest valid text.
    """

    def __init__(self, what: str, allowed: str = LANGUAGE, nearest: str = "") -> None:
        guess = f" Did you mean `{nearest}`?" if nearest else ""
        super().__init__(f"The condition {what}.{guess} Allowed: {allowed}.")
        self.what = what
        self.allowed = allowed
        self.nearest = nearest


class Condition:
    """A valid condition.

    :raises ConditionError: for a syntax error, an unknown name, or an impossible comparison.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        _check_tokens(text)
        self._source = " ".join(re.split(r"[ \t\r\n]", text)).strip()
        self._tree = _parse(self._source)
        self._check_flag(self._tree, 0)

    @cached_property
    def names(self) -> frozenset[str]:
        """The names it uses."""
        parts = (each for each in ast.walk(self._tree) if isinstance(each, ast.Attribute))
        return frozenset(map(ast.unparse, parts))

    @property
    def phases(self) -> frozenset[Phase]:
        """The phases in which all of its names are known."""
        return frozenset(Phase).intersection(*(NAMES[name].phases for name in self.names))

    def holds(self, context: Context) -> tuple[bool, Reason]:
        """Whether it is true, and why: each part with its values.

        It is also true if that depends on an unknown value; the reason says so.

        :param context: known values by name. A value of the wrong type counts as unknown.
        """
        judged = self._evaluate(self._tree, context)
        if judged.held is not None:
            return judged.held, judged.reason
        missing = sorted(name for name in self.names if find_value(name, context) is None)
        text = f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} not known yet, so a person is asked"
        return True, Reason(code="condition.unknown", text=text, children=(judged.reason,))

    # What is allowed, and of which type each part is.

    def _check_flag(self, node: ast.expr, depth: int) -> None:
        if depth > MAX_DEPTH:
            raise ConditionError("is nested too deep", _DEPTH)
        match node:
            case ast.BoolOp(values=parts):
                for part in parts:
                    self._check_flag(part, depth)
            case ast.UnaryOp(ast.Not(), inner):
                self._check_flag(inner, depth + 1)
            case _ if (kind := self._find_type(node, depth).kind) is not ValueKind.flag:
                what = f"takes {self._quote(node)}, {kind.value}, for true or false"
                raise ConditionError(what, "a comparison such as `review.lines_changed > 500`")
            case _:
                pass

    def _find_type(self, node: ast.expr, depth: int = 0) -> ValueType:
        """The type of a part, whose own parts are checked."""
        match node:
            case ast.BoolOp() | ast.UnaryOp(ast.Not()):
                self._check_flag(node, depth)
                return FLAG
            case ast.Compare():
                for left, sign, right in _list_pairs(node):
                    self._check_pair(left, sign, right, depth)
                return FLAG
            case ast.Call(ast.Name("matches")):
                self._check_matches(node)
                return FLAG
            case ast.List():
                raise ConditionError(f"has the list {self._quote(node)} in a place for one value", "a list after `in`")
            case ast.Name("true" | "false"):
                return FLAG
            case ast.Name() | ast.Attribute() if (found := _TOKEN.fullmatch(self._cut(node))) is not None:
                return NAMES[found[0]].type if found[0] in NAMES else _refuse_unknown(found[0])
            case _:
                value = self._read_literal(node)
                return FLAG if isinstance(value, bool) else TEXT if isinstance(value, str) else NUMBER

    def _read_literal(self, node: ast.expr) -> Scalar:
        match node:
            case ast.Name("true" | "false" as name):
                return _FLAGS[name]
            case ast.UnaryOp(ast.USub(), ast.Constant(int() | float() as value)):
                return -value
            case ast.Constant(int() | float() | str() as value) if _TOKEN.fullmatch(self._cut(node)):
                return value
            case _:
                raise ConditionError(f"has {self._quote(node)}, which is no part of a condition")

    def _check_pair(self, left: ast.expr, sign: str, right: ast.expr, depth: int) -> None:
        if sign in {"in", "not in"} and isinstance(right, ast.List):
            if not right.elts:
                raise ConditionError("has an empty list", "at least one value")
            for item in right.elts:
                self._read_literal(item)
                self._find_common_type(left, item, depth)
        elif sign in {"in", "not in"}:
            if self._find_type(right, depth).kind is not ValueKind.texts:
                what = f"looks for something in {self._quote(right)}, which is no list"
                raise ConditionError(what, 'a list such as `["low", "medium"]` after `in`')
            if self._find_type(left, depth).kind not in _TEXTUAL:
                what = f"looks for {self._quote(left)} in {self._quote(right)}"
                raise ConditionError(what, "text in a list of texts")
        elif sign not in _ORDER:
            raise ConditionError(f"compares with `{sign}`")
        else:
            shared = self._find_common_type(left, right, depth)
            if sign not in {"==", "!="} and not shared.ordered and shared.kind is not ValueKind.number:
                what = f"puts {self._quote(left)} and {self._quote(right)} in order with `{sign}`"
                raise ConditionError(
                    what, "numbers and risk levels in order; `==`, `!=`, `in` and `not in` for the rest"
                )

    def _find_common_type(self, left: ast.expr, right: ast.expr, depth: int = 0) -> ValueType:
        one, other = self._find_type(left, depth), self._find_type(right, depth)
        if ValueKind.texts in {one.kind, other.kind} or (one.kind != other.kind and {one.kind, other.kind} != _TEXTUAL):
            what = f"compares {self._quote(left)}, {one.kind.value}, with {self._quote(right)}, {other.kind.value}"
            raise ConditionError(what, "values of the same kind on both sides")
        for literal, wanted in ((left, other), (right, one)):
            if isinstance(literal, ast.Constant):
                return self._check_choice(literal, wanted)
        if one != other:
            what = f"compares {self._quote(left)} with {self._quote(right)}"
            raise ConditionError(what, "names that can have the same values")
        return one

    def _check_choice(self, literal: ast.Constant, wanted: ValueType) -> ValueType:
        if wanted.choices and literal.value not in wanted.choices:
            nearest = difflib.get_close_matches(str(literal.value), wanted.choices, 1)
            allowed = ", ".join(f"`{choice}`" for choice in wanted.choices)
            raise ConditionError(f"compares with {self._quote(literal)}, which is never the case", allowed, *nearest)
        return wanted

    def _check_matches(self, node: ast.Call) -> None:
        name, *patterns = [*node.args, *(keyword.value for keyword in node.keywords)] or [node]
        if not patterns or node.keywords or any(isinstance(self._read_literal(each), int | float) for each in patterns):
            raise ConditionError("has a `matches` without a pattern", '`matches(review.paths, "db/**", "*.sql")`')
        if not isinstance(name, ast.Attribute) or self._find_type(name).kind is not ValueKind.texts:
            raise ConditionError(f"matches {self._quote(name)} with patterns", "`review.paths`")
        for pattern in map(self._read_literal, patterns):
            if (wrong := globs.find_mistake(str(pattern))) is not None:
                what = f"has the pattern {_quote(str(pattern))}, which {wrong}"
                raise ConditionError(what, "patterns such as `db/**`")

    def _cut(self, node: ast.expr) -> str:
        """A part as it was written."""
        return ast.get_source_segment(self._source, node) or ""

    def _quote(self, node: ast.expr) -> str:
        return _quote(self._cut(node))

    # What holds now.

    def _evaluate(self, node: ast.expr, context: Context) -> "_Evaluation":
        match node:
            case ast.Compare():
                return self._evaluate_comparison(node, context)
            case ast.Call(args=[name, *patterns]):
                wanted = tuple(str(self._read_literal(each)) for each in patterns)
                return _evaluate_matches(self._cut(node), find_value(ast.unparse(name), context), wanted)
            case ast.UnaryOp(ast.Not(), inner):
                part = self._evaluate(inner, context)
                shown = f"({part.shown})" if isinstance(inner, ast.Compare | ast.BoolOp) else part.shown
                return _Evaluation(_negate(part.held), f"not {shown}", (part,))
            case ast.BoolOp(sign, inner):
                parts = tuple(self._evaluate(part, context) for part in inner)
                held = [part.held for part in parts]
                is_and = isinstance(sign, ast.And)
                shown = (" and " if is_and else " or ").join(map(_parenthesize, parts))
                return _Evaluation(_all(held) if is_and else _negate(_all(map(_negate, held))), shown, parts)
            case _:
                value, shown = self._evaluate_operand(node, context)
                return _Evaluation(None if value is None else bool(value), shown)

    def _evaluate_comparison(self, node: ast.Compare, context: Context) -> "_Evaluation":
        every = [self._evaluate_operand(part, context) for part in (node.left, *node.comparators)]
        values, shown = [value for value, _ in every], [text for _, text in every]
        pairs = list(_list_pairs(node))
        steps = zip(pairs, values, values[1:], strict=False)
        held = _all([self._compare(*pair, one, other) for pair, one, other in steps])
        text = shown[0] + "".join(f" {sign} {part}" for (_, sign, _), part in zip(pairs, shown[1:], strict=True))
        measured = map(_as_float, values) if len(values) == 2 else (None, None)
        return _Evaluation(held, text, (), *measured)

    def _compare(self, left: ast.expr, sign: str, right: ast.expr, one: Fact | None, other: Fact | None) -> bool | None:
        if one is None or other is None:
            return None
        if isinstance(other, tuple):
            wanted = self._find_type(left) if isinstance(right, ast.List) else TEXT
            inside = _make_comparable(one, wanted) in [_make_comparable(item, wanted) for item in other]
            return inside is (sign == "in")
        wanted = self._find_common_type(left, right)
        return _ORDER[sign](_make_comparable(one, wanted), _make_comparable(other, wanted))

    def _evaluate_operand(self, node: ast.expr, context: Context) -> tuple[Fact | None, str]:
        """The value of a part of a comparison, and the part with it."""
        match node:
            case ast.List(items):
                return tuple(self._read_literal(item) for item in items), self._cut(node)
            case ast.Attribute():
                value = find_value(name := ast.unparse(node), context)
                return value, f"{name} ({_show_value(value)})"
            case ast.Constant() | ast.UnaryOp(ast.USub()) | ast.Name():
                value = self._read_literal(node)
                return value, _show_value(value)
            case _:
                judged = self._evaluate(node, context)
                return judged.held, f"({judged.shown})"


_TOKEN = re.compile(
    r"""-?[0-9]{1,15}(?:\.[0-9]{1,15})?(?![\w.])
    |(?:"[^"\\\x00-\x1f\x7f]*"|'[^'\\\x00-\x1f\x7f]*')
    |[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*
    |<=|>=|==|!=|[<>()\[\],]
    |(?P<other>&&|\|\||\*\*|//|<>|\S)""",
    re.VERBOSE | re.ASCII,
)
_FLAGS = {"true": True, "false": False}
_TEXTUAL = {ValueKind.text, ValueKind.login}
_DEPTH = f"at most {MAX_DEPTH} parentheses and `not` within each other"
_OTHER_LANGUAGES = {"&&": "and", "||": "or", "!": "not", "=": "==", "<>": "!="} | {
    written: word for word in ("and", "or", "not", "in", *_FLAGS) for written in (word.upper(), word.title())
}
"""Spellings of other languages → ours."""


def _check_tokens(text: str) -> None:
    """Refuses what is too long or too deep, and the first word or sign that is none of this language."""
    if len(text) > LONGEST:
        raise ConditionError(f"has {len(text)} characters", f"at most {LONGEST}")
    stars = text.replace("**", "*").count("*")
    if stars > MAX_WILDCARDS:
        raise ConditionError(f"has {stars} wildcards", f"at most {MAX_WILDCARDS} `*` and `**` in all patterns together")
    depth = 0
    for found in _TOKEN.finditer(text):
        token = found[0]
        if found["other"] or token in _OTHER_LANGUAGES:
            what = f"cannot be read at character {found.start() + 1}, {_quote(token)}"
            raise ConditionError(what, LANGUAGE, _OTHER_LANGUAGES.get(token, ""))
        depth += (token == "(") - (token == ")")
        if depth > MAX_DEPTH:
            raise ConditionError("is nested too deep", _DEPTH)


def _parse(source: str) -> ast.expr:
    if not source:
        raise ConditionError("is empty")
    try:
        return ast.parse(source, mode="eval").body
    except SyntaxError as error:
        # Python points at the parenthesis that is never closed, or behind the end
        rest = "" if "never closed" in error.msg or not error.offset else source[error.offset - 1 :]
        raise ConditionError(f"cannot be read at {_quote(rest)}" if rest else "ends too early") from None


def _list_pairs(node: ast.Compare) -> Iterator[tuple[ast.expr, str, ast.expr]]:
    """The compared pairs; a chain is true if all of them are."""
    signs = [_SIGNS.get(type(each), "is") for each in node.ops]
    return zip((node.left, *node.comparators), signs, node.comparators, strict=False)


def _refuse_unknown(name: str) -> NoReturn:
    section = name.partition(".")[0]
    siblings = [known for known in NAMES if known.startswith(f"{section}.")] or list(NAMES)
    nearest = difflib.get_close_matches(name, [*NAMES, *_FLAGS], 1)
    allowed = ", ".join(f"`{known}`" for known in siblings)
    raise ConditionError(f"names {_quote(name)}, which Forge does not know", allowed, *nearest)


_SIGNS: Mapping[type[ast.cmpop], str] = dict(
    zip(
        (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq, ast.In, ast.NotIn),
        ("<", "<=", ">", ">=", "==", "!=", "in", "not in"),
        strict=True,
    )
)
_ORDER: Mapping[str, Callable[[Any, Any], bool]] = dict(
    zip(
        ("<", "<=", ">", ">=", "==", "!="),
        (operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne),
        strict=True,
    )
)
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


def _all(held: Iterable[bool | None]) -> bool | None:
    """Kleene's ``and``: one false part decides, whatever the unknown ones are."""
    seen = set(held)
    return False if False in seen else None if None in seen else True


def _negate(held: bool | None) -> bool | None:
    return None if held is None else not held


def _parenthesize(part: _Evaluation) -> str:
    return f"({part.shown})" if len(part.parts) > 1 else part.shown


def _evaluate_matches(shown: str, paths: Fact | None, patterns: tuple[str, ...]) -> _Evaluation:
    if not isinstance(paths, tuple):
        return _Evaluation(None, f"{shown} ({_show_value(None)})")
    hits = [path for path in paths if globs.matches(str(path), patterns)]
    more = f" and {len(hits) - 1} more" if len(hits) > 1 else ""
    return _Evaluation(bool(hits), f"{shown} ({_show_value(hits[0]) + more if hits else 'none'})")


def _make_comparable(value: object, wanted: ValueType) -> object:
    """The comparable form: the rank of a level, a login without case."""
    if wanted.ordered:
        return wanted.choices.index(str(value))
    return str(value).removeprefix("@").casefold() if wanted.kind is ValueKind.login else value


def _show_value(value: Fact | None) -> str:
    """A value as it can be written, on one line and short."""
    if isinstance(value, tuple):
        return f"{len(value)} of them"
    if isinstance(value, str):
        return json.dumps(cut_text(value, 60), ensure_ascii=False)
    return "not known yet" if value is None else str(value).lower() if isinstance(value, bool) else f"{value:.15g}"


def _as_float(value: Fact | None) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _quote(text: str) -> str:
    """Text of a condition as inline code, on one line and short."""
    flat = " ".join(text.split()).replace("`", "'")
    return f"`{cut_text(flat, 40)}`"
