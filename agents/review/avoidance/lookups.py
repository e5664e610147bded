"""Reads the tables of a program, and by which names its functions answer before they do their work."""

import re
from collections.abc import Iterator, Sequence

from agents.review.avoidance.facts import TableFact
from agents.review.avoidance.kinds import IFS, RETURNS
from agents.review.avoidance.leaves import list_leaves, list_words
from agents.syntax.trees import SyntaxNode

_MOST_KEYS = 200
"""Keys of a table that is looked at; a longer one is data."""
_MOST_LEAVES = 60
"""Words and signs of what a function does before its work."""
_DECLARES = frozenset(
    {"assignment", "variable_declarator", "var_spec", "const_spec", "const_element", "static_item", "const_item"}
    | {"let_declaration", "short_var_declaration", "property_element", "default_parameter", "typed_default_parameter"}
    | {"public_field_definition", "field_definition", "assignment_expression", "optional_parameter"}
)
_PAIRS = frozenset({"pair", "keyed_element", "array_element_initializer"})
_ENTRIES = frozenset({"tuple", "array", "tuple_expression", "initializer_expression", "list"})
_CHOICES = IFS | {"ternary_expression"}
_FALLS_BACK = frozenset({"or", "||", "??", "?", "?:", "if", "getOrDefault", "fetch", "unwrap_or_else", "setdefault"})
"""What joins a first answer with another one."""
_LITERAL = re.compile(r"string|number|integer|int_literal|float|decimal|char|symbol", re.IGNORECASE)
_IS_NAME = re.compile(r"[A-Za-z_$][\w$]*$")


def list_tables(tree: SyntaxNode) -> tuple[TableFact, ...]:
    """The tables that have a name, and their literal keys."""
    return tuple(
        TableFact(name=name, line=each.start, keys=tuple(keys[:_MOST_KEYS]))
        for each in tree.walk()
        if each.kind in _DECLARES and (name := _find_name(each)) and (keys := _list_keys(each))
    )


def _find_name(node: SyntaxNode) -> str:
    """What a declaration names: the last word before it gives a value."""
    name = ""
    for leaf in _list_first(node):
        if leaf in {"=", ":="} or (leaf == ":" and name):
            return name
        name = leaf if _IS_NAME.match(leaf) else name
    return ""


def _list_first(node: SyntaxNode) -> Iterator[str]:
    """Its first leaves."""
    found = (each.text for each in node.walk() if not each.children and each.text)
    return (text for text, _ in zip(found, range(10), strict=False))


def _list_keys(node: SyntaxNode) -> list[str]:
    """The literal keys of the outermost table in a declaration."""
    waiting = [node]
    for _ in range(8):  # levels at which a table may stand in what makes it
        for each in waiting:
            keys = [key for child in each.children if (key := _read_key(child))]
            if len(keys) > 1:
                return keys
            if given := _list_given(each):
                return given
        waiting = [child for each in waiting for child in each.children if child.children]
    return []


def _read_key(node: SyntaxNode) -> str:
    """The key of an entry: a literal, or the bare word that stands for one; empty if it is no entry."""
    if not node.children:
        return ""
    if node.kind in _PAIRS:
        first = node.children[0]
        return _read_literal(first) or (first.text if first.kind == "property_identifier" else "")
    inner = [child for child in node.children if child.text not in {"(", ")", "[", "]", "{", "}", ","}]
    if node.kind == "assignment_expression" and "binding" in node.children[0].kind:
        return _read_literal(node.children[0])
    return _read_literal(inner[0]) if node.kind in _ENTRIES and len(inner) == 2 else ""  # a key and a value


def _read_literal(node: SyntaxNode) -> str:
    leaves = [each for each in node.walk() if not each.children and each.text not in {"[", "]"}]
    return leaves[0].text.strip("\"'`") if len(leaves) == 1 and _LITERAL.search(leaves[0].kind) else ""


def _list_given(node: SyntaxNode) -> list[str]:
    """The keys of a table that a call is given as one value after another: ``Map.of("a", 1, "b", 2)``."""
    if "argument" not in node.kind:
        return []
    values = [child for child in node.children if child.text not in {"(", ")", ","} or child.children]
    keys = [_read_literal(each) for each in values[::2]]
    return keys if len(values) > 3 and len(values) % 2 == 0 and all(keys) else []


def find_early_names(own: Sequence[SyntaxNode]) -> frozenset[str]:
    """The names in what a function answers with, and in the conditions on which it does.

    :param own: what is in the function.
    """
    words = set[str]()
    for each in own:
        is_branch = each.kind in _CHOICES and any(inner.kind in RETURNS for inner in each.walk())
        is_choice = each.kind in RETURNS and not _FALLS_BACK.isdisjoint(list_leaves(each))
        if (is_branch or is_choice) and len(list_leaves(each)) <= _MOST_LEAVES:
            words.update(word for word in list_words(each) if _IS_NAME.match(word))
    for each in own:
        if each.kind in _DECLARES and len(leaves := list_leaves(each)) <= _MOST_LEAVES and _find_name(each) in words:
            words.update(leaf for leaf in leaves if _IS_NAME.match(leaf))
    return frozenset(words)
