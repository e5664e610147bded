"""Reads what the sides of a comparison pass through before they are compared, of any language and framework."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from agents.review.avoidance.facts import SideFact
from agents.review.avoidance.leaves import list_leaves
from agents.review.avoidance.losses import BARE, is_loose, is_lossy
from agents.syntax.trees import SyntaxNode

_MOST = 400
"""Words and signs of a comparison that is looked at; a longer one is data."""
_MOST_LAYERS = 12
_MOST_SIDES = 3
_LONGEST = 80  # characters of what a function is given beside the value
_OPENS = {"(": ")", "[": "]", "{": "}"}
_CLOSES = {closing: opening for opening, closing in _OPENS.items()}
_IS_NAME = re.compile(r"[A-Za-z_$][\w$]*[?!]?$")
_IS_LITERAL = re.compile(r"""[rbuf$@]{0,2}["'`/]|[-+.]?\d|(?:true|false|nil|null|none|undefined)$""", re.IGNORECASE)
_COMPARES = frozenset({"==", "===", "!=", "!==", "is", "in"})
_BOUNDS = frozenset({"assert", "if", "and", "or", "&&", "||", ";", ",", "not", "return", "while", "?", "=>", "unless"})
_SUBJECTS = re.compile(r"[Ss]hould$|(must|wont)_\w+$")
"""Words before which the subject stands."""
_UNARY = frozenset({"await", "&", "*", "new", "!", "return", "..."})
_LINKS = frozenset({".", "->", "?.", "::", "?->"})
_MODULES = re.compile(
    r"(re|regex|strings?|str|bytes|_|lodash|np|math|json|utils?|helpers?|textwrap|regexp|slices|sort|sorted|std|self|this|"
    r"static|os|path|filepath|cmp|text|[A-Z]\w*)$"
)
_ASSIGNS = frozenset(
    {"assignment", "variable_declarator", "short_var_declaration", "assignment_expression", "assignment_statement"}
    | {"let_declaration", "variable_assignment"}
)
_SHELL = (
    (re.compile(r"(,,|\^\^|\^|,)\}\"?$"), "lower"),
    (re.compile(r"^\"?\$\{[^/}]+/[^}]*/[^}]*\}\"?$"), "replace"),
)


@dataclass(frozen=True)
class Assigned:
    """What a variable is given."""

    name: str
    line: int
    side: SideFact


def read_sides(nodes: Sequence[SyntaxNode], assigned: Sequence[Assigned], line: int) -> tuple[SideFact, ...]:
    """The sides of a comparison.

    :param nodes: what it consists of.
    :param assigned: what the variables around it are given.
    """
    tokens = [leaf for node in nodes for leaf in list_leaves(node)]
    if len(tokens) > _MOST:
        return ()
    sides = [_trace(peel(each), assigned, line) for each in _split(tokens) if each][:_MOST_SIDES]
    loose = tuple(word for word in dict.fromkeys(tokens) if is_loose(word))
    return tuple(SideFact(through=(*loose, *each.through), core=each.core) for each in sides)


def list_assigned(node: SyntaxNode) -> list[Assigned]:
    """What the variables below a node are given, in order."""
    found = list[Assigned]()
    for each in node.walk():
        if each.kind not in _ASSIGNS or not each.children:
            continue
        tokens = list_leaves(each)
        at = next((index for index, token in enumerate(tokens[:12]) if token in {"=", ":="}), 0)
        names = [token for token in tokens[:at] if token not in {"let", "mut", "const", "var"}]
        if at and len(tokens) <= _MOST and (len(names) == 1 or names[1:2] in ([":"], [","]) or names[0] == "$"):
            found.append(Assigned(names[1 if names[0] == "$" else 0], each.start, peel(tokens[at + 1 :])))
    return found


def _trace(side: SideFact, assigned: Sequence[Assigned], line: int) -> SideFact:
    """A side with what the variable that it is passed through before."""
    through, core = [*side.through], side.core
    for each in reversed(assigned):
        if each.line <= line and each.name == _VARIABLE.sub("", core) and len(through) < _MOST_LAYERS:
            through += each.side.through
            core, line = each.side.core, each.line
    return SideFact(through=tuple(through), core=core)


_VARIABLE = re.compile(r'["${} ]')
"""What stands around the name of a variable where it is read."""


def _split(tokens: list[str]) -> list[list[str]]:
    """The sides: those of an operator, else what an assertion is given."""
    depths = _list_depths(tokens)
    calls = [*_list_calls(tokens, depths)]
    subject = next((i for i, token in enumerate(tokens) if i and not depths[i] and _SUBJECTS.match(token)), 0)
    if subject:
        head = tokens[: subject - 1]
        return [head, *(each for start, groups in calls if start > subject for each in groups)]
    is_statement = tokens[0] in {"assert", "if", "return", "["} or not calls
    for at, token in enumerate(tokens):
        if token in _COMPARES or (token == "=" and tokens[0] == "["):
            is_loop = token == "in" and "for" in tokens[:at]
            if not is_loop and depths[at] == (1 if not is_statement or tokens[0] == "[" else 0):
                return [_take(tokens, depths, at, -1), _take(tokens, depths, at, 1)]
    if calls:
        sides = [each for _, groups in calls for each in groups]
        return sides if len(sides) > 1 or len(tokens) < 3 else [*sides, *_list_bare(tokens, depths)[1:]]
    return _list_bare(tokens, depths)


def _list_bare(tokens: list[str], depths: list[int]) -> list[list[str]]:
    """What a call without brackets is given, as in Ruby and shells."""
    if len(tokens) < 2 or not _IS_NAME.match(tokens[0]):
        return []
    if all(_IS_LITERAL.match(token) for token in tokens[1:]):
        return [[token] for token in tokens[1:]]
    return [*_list_arguments(tokens[1:], depths[1:])]


def _list_depths(tokens: Sequence[str]) -> list[int]:
    depths: list[int] = []
    depth = 0
    for token in tokens:
        depth -= token in _CLOSES
        depths.append(depth)
        depth += token in _OPENS
    return depths


def _take(tokens: list[str], depths: list[int], at: int, step: int) -> list[str]:
    """The operand on one side of an operator."""
    end = at + step
    while 0 <= end < len(tokens):
        if depths[end] < depths[at] or (depths[end] == depths[at] and tokens[end] in _BOUNDS):
            break
        if depths[end] == depths[at] and tokens[end] in (_CLOSES if tokens[0] == "[" else ()):
            break
        end += step
    return tokens[end + 1 : at] if step < 0 else tokens[at + 1 : end]


def _list_calls(tokens: list[str], depths: list[int]) -> Iterator[tuple[int, list[list[str]]]]:
    """Where each call of a chain begins, and what it is given."""
    for at, token in enumerate(tokens):
        if token == "(" and not depths[at] and at:
            name = tokens[at - 2] if tokens[at - 1] == "!" and at > 1 else tokens[at - 1]
            if _IS_NAME.match(name) and name not in {"if", "assert", "return"}:
                end = next((i for i in range(at + 1, len(tokens)) if depths[i] == 0), len(tokens))
                yield at, [*_list_arguments(tokens[at + 1 : end], depths[at + 1 : end])]


def _list_arguments(tokens: list[str], depths: list[int]) -> Iterator[list[str]]:
    least = min(depths, default=0)
    commas = [i for i, token in enumerate(tokens) if token == "," and depths[i] == least]
    for begin, end in pairwise([-1, *commas, len(tokens)]):
        if tokens[begin + 1 : end]:
            yield tokens[begin + 1 : end]


def peel(tokens: list[str]) -> SideFact:
    """What a value passes through, from the outside in, and what is left of it."""
    through: list[str] = []
    for _ in range(_MOST_LAYERS):
        tokens = _unwrap(tokens)
        found = _find_layer(tokens)
        if found is None:
            break
        through += found[0]
        tokens = found[1]
    return SideFact(through=tuple(through), core=" ".join(tokens))


def _unwrap(tokens: list[str]) -> list[str]:
    while tokens:
        if tokens[0] in _UNARY or tokens[-1] in {";", "!"}:
            tokens = tokens[1:] if tokens[0] in _UNARY else tokens[:-1]
        elif tokens[0] == "(" and _find_opening(tokens) == 0 and "," not in tokens and "for" not in tokens:
            tokens = tokens[1:-1]
        else:
            break
    return tokens


def _find_opening(tokens: list[str]) -> int:
    """Where the bracket opens that the last one closes; -1 if there is none."""
    depth = 0
    for at in range(len(tokens) - 1, -1, -1):
        depth += (tokens[at] in _CLOSES) - (tokens[at] in _OPENS)
        if depth == 0:
            return at if tokens[-1] in _CLOSES else -1
    return -1


def _find_layer(tokens: list[str]) -> tuple[list[str], list[str]] | None:
    """The outermost things that a value passes through, and what is in them."""
    if len(tokens) == 1 or tokens[:1] == ["$("]:
        return _find_in_shell(" ".join(tokens).replace("$( ", "$(").replace(" )", ")"))
    if len(tokens) > 2 and tokens[-2] in _LINKS and BARE.match(tokens[-1]):
        return [tokens[-1]], tokens[:-2]
    at = _find_opening(tokens)
    if at == 0 and "for" in tokens and "in" in tokens:
        return _read_comprehension(tokens)
    if at == 0 and tokens[1:2] == ["..."]:
        return ["list"], tokens[2:-1]
    if at <= 0:
        return None
    if tokens[at] == "[":
        return (["slice"], tokens[:at]) if ":" in tokens[at:] and "{" not in tokens[at:] else None
    name_at = at - 2 if tokens[at - 1] == "!" else at - 1
    if tokens[at] != "(" or not _IS_NAME.match(tokens[name_at]):
        return None
    inside = tokens[at + 1 : -1]
    return _read_call(tokens[name_at], tokens[:name_at], [*_list_arguments(inside, _list_depths(inside))])


def _read_call(name: str, head: list[str], given: list[list[str]]) -> tuple[list[str], list[str]] | None:
    while head and head[-1] in _LINKS:
        head = head[:-1]
    value = _find_value(name, head, given)
    if value is None:
        return None
    others = [each for each in given if each is not value]
    beside = " , ".join(" ".join(each) for each in others)[:_LONGEST]
    inner = [token for each in others for token in each if is_lossy(token.lstrip(":&"))]
    return [f"{name}({beside})" if beside else name, *inner], value


def _find_value(name: str, head: list[str], given: list[list[str]]) -> list[str] | None:
    """What a call is about: what it is called on, or one of the things that it is given."""
    values = [each for each in given if not all(_is_constant(token) for token in each) and each[1:2] != ["="]]
    is_module = not head or (_MODULES.match(next((t for t in head if t not in {"$", "new"}), "")) is not None)
    is_module = is_module or head[-1:] == ["new"] or head[-1].isupper()
    if head and not (is_module and values):
        return head
    if not values:
        return None
    if name in {"map", "filter"} and not head:
        return values[-1]
    if len(given) > 2 and re.match(
        r"(re_?)?g?sub$|preg_replace$|(str|mb)_i?replace$|replace_all$|regexp_replace$", name
    ):
        return given[2]
    return values[0]


def _is_constant(token: str) -> bool:
    return _IS_LITERAL.match(token) is not None or not (token[:1].isalpha() or token[:1] in "_$")


def _read_comprehension(tokens: list[str]) -> tuple[list[str], list[str]]:
    depths = _list_depths(tokens)
    begin = next((i for i, token in enumerate(tokens) if token == "for" and depths[i] == 1), 1)
    among = next((i for i, token in enumerate(tokens) if token == "in" and depths[i] == 1 and i > begin), begin)
    end = next((i for i, token in enumerate(tokens) if token in {"if", "for"} and depths[i] == 1 and i > among), -1)
    inner = [*peel(tokens[1:begin]).through]
    outer = ["set"] if tokens[0] == "{" and ":" not in tokens[:begin] else []
    return [*outer, *inner, *(["filter"] if tokens[end] == "if" else [])], tokens[among + 1 : end]


def _find_in_shell(token: str) -> tuple[list[str], list[str]] | None:
    """What an expansion of a shell passes through."""
    text = token.strip('"')
    if text.startswith("$(") and text.endswith(")"):
        first, *commands = text[2:-1].split(" | ")
        return [" ".join(each.split()[:3]) for each in reversed(commands)], [first.strip()]
    if text.startswith("${"):
        name = re.match(r"\$\{(\w+)", text)
        found = next((what for expression, what in _SHELL if expression.search(token)), "")
        return ([found], [f'"${name[1]}"']) if name and found else None
    return None
