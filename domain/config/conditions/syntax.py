"""Parses a condition into a tree by a small grammar.

::

    condition  = both {"or" both}
    both       = negation {"and" negation}
    negation   = "not" negation | comparison
    comparison = operand {("<" | "<=" | ">" | ">=" | "==" | "!=" | "in" | "not" "in") operand}
    operand    = number | text | "true" | "false" | name | list | matches | "(" condition ")"
    list       = "[" literal {"," literal} "]"
    matches    = "matches" "(" name {"," text} ")"

The grammar is our own and not Python's, so that no new version of Python extends it.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, NoReturn

from domain.config.conditions.names import Scalar

LONGEST = 300
"""Characters of a condition."""
MAX_DEPTH = 10
"""Parentheses and ``not`` within each other."""
MAX_WILDCARDS = 20
"""Wildcards ``*`` and ``**`` in all patterns together: matching takes time in proportion to them."""

LANGUAGE = (
    "`and`, `or`, `not`, comparisons, `in`, numbers, text in quotes, `true`, `false`, lists, "
    "`matches(review.paths, …)` and names such as `review.lines_changed`"
)
"""A summary of the language for people."""


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


@dataclass(frozen=True)
class Literal:
    """A value that is written out."""

    value: Scalar


@dataclass(frozen=True)
class ListLiteral:
    """A list of literals, at least one."""

    items: tuple[Literal, ...]


@dataclass(frozen=True)
class Name:
    """A dotted name, known or not."""

    name: str


@dataclass(frozen=True)
class Matches:
    """Whether a path of a name's value matches one of the patterns."""

    name: Name
    patterns: tuple[str, ...]


@dataclass(frozen=True)
class Comparison:
    """Operands with an operator between each two: ``1 < a <= b`` is one comparison of three."""

    operands: "tuple[Node, ...]"
    operators: tuple[str, ...]


@dataclass(frozen=True)
class Not:
    inner: "Node"


@dataclass(frozen=True)
class BooleanOperation:
    """Parts that ``and`` or ``or`` joins, at least two."""

    word: str
    parts: "tuple[Node, ...]"


Node = Literal | ListLiteral | Name | Matches | Comparison | Not | BooleanOperation


def parse(text: str) -> Node:
    """The tree of a condition.

    :raises ConditionError: if the text is malformed, empty, too long or too deep.
    """
    _check_size(text)
    reader = _TokenParser(text)
    if reader.next.text == "":
        raise ConditionError("is empty")
    node = reader.condition()
    return node if reader.next.text == "" else reader.refuse()


def _check_size(text: str) -> None:
    if len(text) > LONGEST:
        raise ConditionError(f"has {len(text)} characters", f"at most {LONGEST}")
    stars = text.replace("**", "*").count("*")
    if stars > MAX_WILDCARDS:
        raise ConditionError(f"has {stars} wildcards", f"at most {MAX_WILDCARDS} `*` and `**` in all patterns together")


def unparse(node: Node) -> str:
    """A part of a condition as it can be written."""
    match node:
        case Literal(value):
            return unparse_value(value)
        case ListLiteral(items):
            return f"[{', '.join(unparse_value(item.value) for item in items)}]"
        case Name(name):
            return name
        case Matches(name, patterns):
            return f"matches({', '.join([name.name, *map(unparse_value, patterns)])})"
        case Comparison(operands, operators):
            first, *rest = map(_parenthesize, operands)
            return first + "".join(f" {sign} {part}" for sign, part in zip(operators, rest, strict=True))
        case Not(inner):
            return f"not {_parenthesize(inner)}"
        case BooleanOperation(word, parts):
            return f" {word} ".join(map(_parenthesize, parts))


def unparse_value(value: Scalar) -> str:
    """A value as it can be written, on one line and short."""
    if isinstance(value, str):
        return json.dumps(value if len(value) <= 60 else value[:59] + "…", ensure_ascii=False)
    return str(value).lower() if isinstance(value, bool) else f"{value:.15g}"


def quote(text: str) -> str:
    """Text of a condition as inline code, on one line and short."""
    flat = " ".join(text.split()).replace("`", "'")
    return f"`{flat[:40]}{'…' if len(flat) > 40 else ''}`"


def _parenthesize(node: Node) -> str:
    return f"({unparse(node)})" if isinstance(node, BooleanOperation | Comparison | Not) else unparse(node)


class _Token(NamedTuple):
    kind: str | None
    text: str
    start: int


_TOKEN = re.compile(
    r"""(?P<number>-?[0-9]{1,15}(?:\.[0-9]{1,15})?(?![\w.]))
    |(?P<text>"[^"\\\x00-\x1f\x7f]*"|'[^'\\\x00-\x1f\x7f]*')
    |(?P<name>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)
    |(?P<sign><=|>=|==|!=|[<>()\[\],])
    |(?P<other>&&|\|\||\*\*|//|<>|[=!]|\S)""",
    re.VERBOSE | re.ASCII,
)
_COMPARE = {"<", "<=", ">", ">=", "==", "!=", "in"}
_WORDS = {"and", "or", "not", "in", "matches"}
_FOREIGN_SPELLINGS = {"&&": "and", "||": "or", "!": "not", "=": "==", "<>": "!="} | {
    written: word for word in ("and", "or", "not", "in", "true", "false") for written in (word.upper(), word.title())
}
"""Operators of other languages → ours."""


def _tokens(text: str) -> list[_Token]:
    found = [_Token(match.lastgroup, match.group(), match.start()) for match in _TOKEN.finditer(text)]
    return [*found, _Token(None, "", len(text))]


class _TokenParser:
    """Reads tokens from left to right; each method takes those of the rule it is named after."""

    def __init__(self, text: str) -> None:
        self._tokens = _tokens(text)
        self._depth = 0

    @property
    def next(self) -> _Token:
        return self._tokens[0]

    def condition(self) -> Node:
        return self._operation("or", lambda: self._operation("and", self._negation))

    def refuse(self, allowed: str = LANGUAGE) -> NoReturn:
        """Raises the error at the current token."""
        token = self.next
        if token.text == "":
            raise ConditionError("ends too early", allowed)
        what = f"cannot be read at character {token.start + 1}, {quote(token.text)}"
        raise ConditionError(what, allowed, _FOREIGN_SPELLINGS.get(token.text, ""))

    def _operation(self, word: str, part: Callable[[], Node]) -> Node:
        parts = [part()]
        while self._accept(word):
            parts.append(part())
        return parts[0] if len(parts) == 1 else BooleanOperation(word, tuple(parts))

    def _negation(self) -> Node:
        return Not(self._nest(self._negation)) if self._accept("not") else self._comparison()

    def _comparison(self) -> Node:
        operands, operators = [self._operand()], list[str]()
        while (operator := self._operator()) is not None:
            operators.append(operator)
            operands.append(self._operand())
        return Comparison(tuple(operands), tuple(operators)) if operators else operands[0]

    def _operator(self) -> str | None:
        if self.next.text == "not":
            self._take()
            self._expect("in", "`not in`, or `and not`")
            return "not in"
        return self._take().text if self.next.text in _COMPARE else None

    def _operand(self) -> Node:
        if self._accept("("):
            inner = self._nest(self.condition)
            self._expect(")", "a closing parenthesis")
            return inner
        if self._accept("["):
            return self._list()
        if self._accept("matches"):
            return self._matches()
        return self._name() if self._is_name() else self._literal()

    def _list(self) -> ListLiteral:
        items = [self._literal()]
        while self._accept(","):
            items.append(self._literal())
        self._expect("]", "a comma, or a closing bracket")
        return ListLiteral(tuple(items))

    def _matches(self) -> Matches:
        self._expect("(", usage := '`matches(review.paths, "db/**", "*.sql")`')
        name = self._name() if self._is_name() else self.refuse(usage)
        patterns: list[str] = []
        while self._accept(","):
            patterns.append(self._take().text[1:-1] if self.next.kind == "text" else self.refuse(usage))
        self._expect(")", usage)
        return Matches(name, tuple(patterns)) if patterns else self._lacks_patterns(usage)

    def _lacks_patterns(self, usage: str) -> NoReturn:
        raise ConditionError("has a `matches` without a pattern", usage)

    def _literal(self) -> Literal:
        token = self.next
        if token.kind == "number":
            return Literal(float(self._take().text) if "." in token.text else int(self._take().text))
        if token.kind == "text":
            return Literal(self._take().text[1:-1])
        if token.text in {"true", "false"}:
            return Literal(self._take().text == "true")
        return self.refuse()

    def _name(self) -> Name:
        return Name(self._take().text)

    def _is_name(self) -> bool:
        return self.next.kind == "name" and self.next.text not in _WORDS | {"true", "false"} | set(_FOREIGN_SPELLINGS)

    def _nest(self, read: Callable[[], Node]) -> Node:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise ConditionError("is nested too deep", f"at most {MAX_DEPTH} parentheses and `not` within each other")
        node = read()
        self._depth -= 1
        return node

    def _accept(self, text: str) -> bool:
        is_next = self.next.text == text
        if is_next:
            self._take()
        return is_next

    def _expect(self, text: str, allowed: str) -> None:
        if not self._accept(text):
            self.refuse(allowed)

    def _take(self) -> _Token:
        return self._tokens.pop(0)
