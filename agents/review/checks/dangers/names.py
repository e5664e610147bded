"""Follows a name to the texts that the same function gives it, and to the constants of its file."""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, cast

from ast_grep_py import SgNode

from agents.review.checks.dangers.texts import (
    ARGUMENTS,
    CALLS,
    GROUPED,
    SENT,
    Filling,
    flatten,
    list_named,
    list_parameters,
    list_scopes,
    read_before,
    read_callee,
)

_MOST_STEPS = 3  # from name to name
_MOST_TEXTS = 12  # that one name is given
_MOST_KEPT = 16  # functions whose names are known, from candidate to candidate
_GIVES = frozenset(
    {"variable_declarator", "short_var_declaration", "var_spec", "const_spec", "const_element", "let_declaration"}
    | {"const_item", "static_item", "static_element", "init_declarator"}
)
_APPENDS = r"(?:append|Append(?:Line)?|push|add|Add|push_str|WriteString|extend|concat)"
_ADDS = re.compile(rf"^(?P<name>[$@]?\w+)\b.*(?:\.|->){_APPENDS}\s*$", re.DOTALL)
_GIVEN_NAME = r"^(?:let\s+(?:mut\s+)?|const\s+|static\s+)?(?P<name>[$@]?\w+)"
_GIVING = (
    rf"{_GIVEN_NAME}(?:\[\])?\s*(?::\s*[^=\n;(]+|\s[\w.\[\]<>]+\s*)?(?:[+.:|?]+)?=[^=>~]"
    rf"|^[$@]?\w+(?:\.|->){_APPENDS}\s*\(|^[$@]?\w+\s*<<"
)
_KEPT = re.compile(
    r"^&?(?P<name>[$@]?\w+)(?:\.(?:toString|ToString|String|as_str|clone|strip|trim|to_s|squish)(?:\(\))?)?$"
    r"|^[\"'`][^\"'`]*[\"'`]\.join\((?P<joined>\w+)\)$|^(?P<list>[$@]?\w+)\.join(?:\([^()]*\))?$"
    r"|^(?:[sS]tring\.[jJ]oin|implode|join)\([^(),]*,\s*(?P<put>[$@]?\w+)\)$|^strings\.Join\((?P<parts>\w+),[^()]*\)$"
)
_CONSTANT = re.compile(
    r"^(?:\w+(?:\.|::|->))*(?!ARGV|ENV\b)[A-Z][A-Z0-9_]*(?:\(\)|\[[^\[\]]*(?:\[[^\[\]]*\])?\]|\.(?:get|fetch)\(.*\))?$",
    re.DOTALL,
)
_NUMBER = re.compile(
    r"^[\d.]+$|^(?:None|null|nil|true|false)$|^(?:int|float|len|count|Number|parseInt|parseFloat|intval|floatval|sizeof"
    r"|strconv\.(?:Itoa|FormatInt))\s*\((?:[^()]|\([^()]*\))*\)$|^\(int\)\s*[$\w]|\.to_[if]$"
)
_TEXT = re.compile(r"\"([^\"\n]*)\"|'([^'\n]*)'|`([^`\n]*)`")
_INDEX = re.compile(
    r"[#$]?\{[\s\d+*-]*(?:i|j|k|n|idx|index|pos|num|number|count|\w+(?:\.length|\.size|\.Count))[\s\d+*-]*\}"
)
_MARKS = re.compile(r"[\s(]*(?:\?|%s|[:@$]\w{0,20})[\s,)]*(?:(?:\?|%s|[:@$]\w{0,20})[\s,)]*)*")
_REPEATED = re.compile(r"(?i)join|repeat|implode|\*|fill|nCopies|\bfor\b")
_NAMED_MARKS = re.compile(r"(?i)^[$@]?(?:\w*_)?(?:place_?holders?|question_?marks?|q_?marks)$")
_MEMBER = (
    r"(?:has|includes|contains|Contains|containsKey|ContainsKey|include\?|key\?|member\?|in_array|array_key_exists)"
)
_LACKS = re.compile(r"\bnot\b|!(?!=)|\bunless\b|<\s*0|-\s*1\b|\bassert\b")
_LEAVES = r"\b(?:raise|throw|return|exit|die|abort|panic|continue|halt|fail|bail|assert)\b"


def is_constant(source: str) -> bool:
    """Whether an expression is named like a constant, or one of a table of constants."""
    return _CONSTANT.search(source) is not None


def is_number(source: str) -> bool:
    """Whether an expression is a number, or nothing, whatever it is made of."""
    return _NUMBER.search(source) is not None


def is_list_of_marks(source: str) -> bool:
    """Whether an expression repeats a placeholder, as ``", ".join("?" for _ in ids)``."""
    if _NAMED_MARKS.search(source):
        return True
    texts = [_INDEX.sub("", "".join(found.groups(""))) for found in _TEXT.finditer(source)]
    marks = [text for text in texts if text.strip(" ,()")]
    return marks != [] and all(_MARKS.fullmatch(text) for text in marks) and _REPEATED.search(source) is not None


def is_allowed(source: str, node: SgNode) -> bool:
    """Whether the function around a node goes on only with values that it looked up among others.

    :param source: the value: a name.
    """
    name = source.strip().lstrip("&")
    if not re.fullmatch(r"[$@]?\w+(?:(?:\.|->)\w+)*", name):
        return False
    value = rf"(?<![\w.$@])&?{re.escape(name)}(?![\w.(])"
    asks = re.compile(
        rf"{value}\s+(?:not\s+)?in\s|{_MEMBER}\s*\([^()\n]*{value}|[\w.]\[{value}\]|indexOf\(\s*{value}\s*\)"
    )
    leaves = re.compile(rf"{_LEAVES}|{value}\s*=[^=]")
    lines = read_before(node).split("\n")
    for at, line in enumerate(lines):
        if asks.search(line) is None or SENT.search(asks.sub("", line)):
            continue
        if _LACKS.search(line) and leaves.search("\n".join(lines[at : at + 3])):
            return True
    conditions = (each.children()[1] for each in node.ancestors() if each.kind() in ("if_statement", "if"))
    return any(
        asks.search(text) is not None and _LACKS.search(text) is None and SENT.search(text) is None
        for text in (each.text() for each in conditions)
    )


def find_added(call: SgNode) -> str:
    """The name of the list or text that a call, or an operator, adds its argument to; empty if it adds to none."""
    if call.kind() in CALLS:
        found = _ADDS.search(read_callee(call))
        return "" if found is None else found["name"]
    if call.kind() == "binary" and len(children := call.children()) == 3 and children[1].text() == "<<":
        first = children[0]
        while first.kind() == "binary":
            first = first.children()[0]
        return first.text()
    return ""


def follow(
    parts: Sequence[str | Filling], node: SgNode, within: frozenset[str] = frozenset()
) -> Iterator[str | Filling]:
    """A text, with the texts that the names in it were given in the same function instead of the names.

    :param node: where it stands.
    :param within: the names whose texts are being read; what they say of themselves stands before.
    """
    for part in parts:
        if isinstance(part, str):
            yield part
        else:
            yield from _follow_one(part, node, within)


def read_kept(name: str, node: SgNode) -> str:
    """The text that a name was given before a node, with ``?`` for what was put in."""
    given = list_given(name, node)[-_MOST_TEXTS:]
    parts = [part for each in given for part in (*follow(list(flatten(each)), each, frozenset({name})), " ")]
    return "".join(part if isinstance(part, str) else "?" for part in parts)


def _follow_one(value: Filling, node: SgNode, within: frozenset[str]) -> Iterator[str | Filling]:
    inner = [value] if value.node is None else list(flatten(value.node))
    if len(inner) != 1 or isinstance(inner[0], str):
        for part in inner:
            yield from [part] if isinstance(part, str) else _follow_name(part, node, within)
    else:
        yield from _follow_name(value, node, within)


def _follow_name(value: Filling, node: SgNode, within: frozenset[str]) -> Iterator[str | Filling]:
    found = _KEPT.search(value.source)
    name = "" if found is None else next(each for each in found.groups() if each)
    if name in within:
        return
    known = Filling(value.source, value.node or node)
    given = list_given(name, known.node or node) if name and len(within) < _MOST_STEPS else []
    if not given or len(given) > _MOST_TEXTS:
        yield known
        return
    texts = [list(follow(list(flatten(each)), each, within | {name})) for each in given]
    if not all(_is_known(text) for text in texts):
        yield known
        return
    for text in texts:
        yield from text
        yield " "


def _is_known(text: Sequence[str | Filling]) -> bool:
    """Whether something of it is written there, or nothing of it can come from outside, as in an empty list."""
    return any(isinstance(part, str) for part in text) or all(
        is_constant(part.source) or is_number(part.source) or is_list_of_marks(part.source)
        for part in text
        if isinstance(part, Filling)
    )


def list_given(name: str, node: SgNode) -> list[SgNode]:
    """The expressions that a name is given, or that are added to it, before a node.

    They are those of the function around it, else of the functions around that, else of the file; what a parameter is
    given elsewhere is not known.
    """
    for scope in list_scopes(node):
        is_parameter = name in list_parameters(scope)
        found = [each for each in _index(scope).get(name, ()) if _ends_before(each, node)]
        if found or is_parameter:
            return [] if is_parameter else found
    found = _index_outside(node.get_root().root()).get(name, [])
    is_inside = next(list_scopes(node), None) is not None
    return found if is_inside else [each for each in found if _ends_before(each, node)]


def _ends_before(each: SgNode, node: SgNode) -> bool:
    return each.range().end.index <= node.range().start.index


@lru_cache(maxsize=_MOST_KEPT)
def _index_outside(root: SgNode) -> dict[str, list[SgNode]]:
    """What the names of a file are given outside of functions."""
    outside = {
        name: [each for each in given if next(list_scopes(each), None) is None] for name, given in _index(root).items()
    }
    return {name: given for name, given in outside.items() if given}


@lru_cache(maxsize=_MOST_KEPT)
def _index(scope: SgNode) -> dict[str, list[SgNode]]:
    """What each name is given in a function or a file, in the order of the text."""
    found: dict[str, list[SgNode]] = {}
    for node in scope.find_all(cast(Any, {"rule": {"regex": _GIVING}})):
        kind = node.kind()
        if added := find_added(node):
            arguments = [each for child in node.children() if child.kind() in ARGUMENTS for each in list_named(child)]
            found.setdefault(added, []).extend(arguments or list_named(node)[-1:])
        elif ("assign" in kind or kind in _GIVES) and (named := re.match(_GIVEN_NAME, node.text())) is not None:
            last = list_named(node)[-1]
            given = _list_appended(last) if _unwrap(last).kind() in CALLS else [last]
            found.setdefault(named["name"], []).extend(given)
    return {name: sorted(given, key=lambda each: each.range().start.index) for name, given in found.items()}


def _list_appended(node: SgNode) -> list[SgNode]:
    """Of Go's ``append(list, value)`` the values, of another call itself."""
    call = _unwrap(node)
    if read_callee(call) != "append":
        return [node]
    return [each for child in call.children() if child.kind() in ARGUMENTS for each in list_named(child)[1:]]


def _unwrap(node: SgNode) -> SgNode:
    while node.kind() in GROUPED and len(inner := list_named(node)) == 1:
        node = inner[0]
    return node
