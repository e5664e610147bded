"""Reads the cases of the tables that tests go through: lists of rows, of plain values, mappings and templates."""

import re
from collections.abc import Iterator, Sequence

from agents.review.avoidance.calls import CALLS, find_callee
from agents.review.avoidance.leaves import is_literal, join_text, list_leaves
from agents.syntax.trees import FUNCTIONS, SyntaxNode

_MOST_ROWS = 500
"""Cases of one table that are compared; a longer one is data."""
SPACE = "\ue000"
"""Stands for a space within a part of a case."""
_LISTS = frozenset(
    [
        "list",
        "array",
        "literal_value",
        "array_initializer",
        "initializer_expression",
        "array_creation_expression",
        "array_expression",
        "tuple",
        "set",
        "collection_expression",
    ]
)
_PLAIN_LISTS = _LISTS - {"array_creation_expression"} | {"element_value_array_initializer", "attribute_argument_list"}
_MAPS = frozenset({"hash", "dictionary", "object"})
_LEAST_PAIRS = 4
"""Pairs of a mapping that make it a table of cases."""
_COMPOSITE = frozenset(
    [
        "tuple",
        "list",
        "dictionary",
        "object",
        "array",
        "literal_value",
        "hash",
        "array_creation_expression",
        "array_element_initializer",
        "call",
        "call_expression",
        "object_creation_expression",
        "tuple_expression",
        "composite_literal",
        "initializer_expression",
        "array_initializer",
        "struct_expression",
    ]
)
_LOOPS = frozenset(
    ["for_statement", "for_in_statement", "for_expression", "foreach_statement", "enhanced_for_statement", "for"]
)
_BODIES = frozenset(
    {"block", "statement_block", "compound_statement", "body_statement", "do_block", "do", "block_body"}
)
_DECLARATIONS = frozenset(
    [
        "assignment",
        "variable_declarator",
        "static_item",
        "const_item",
        "var_spec",
        "const_spec",
        "const_element",
        "property_element",
    ]
)
_NEAREST = 5  # nodes above a list that may go through it
_GOES_THROUGH = frozenset({"each", "forEach", "each_with_index", "each_with_object", "parametrize", "with"})
_OF_VALUES = re.compile(r"\b(ValueSource|CsvSource|EnumSource|Values|values|parametrize)\b")
_CLOSURES = FUNCTIONS | {"arrow_function", "function_expression", "lambda", "do_block", "func_literal"}


def list_rows(node: SyntaxNode) -> Iterator[str]:
    """The cases in the tables below a node."""
    for each in node.walk():
        if each.kind in _MAPS:
            pairs = [child for child in each.children if child.kind == "pair"]
            if len(pairs) >= _LEAST_PAIRS:
                yield from map(join_row, pairs[:_MOST_ROWS])
        if each.kind in _LISTS:
            rows = [child for child in each.children if child.kind in _COMPOSITE or _is_row(child)]
            if len(rows) > 1:
                yield from map(join_row, rows[:_MOST_ROWS])
    yield from _list_plain(node, [])


def join_row(node: SyntaxNode) -> str:
    """A case as one text, whose parts are found again by :func:`split_row`."""
    return " ".join(leaf.replace(" ", SPACE) for leaf in list_leaves(node))


def split_row(row: str) -> list[str]:
    """The parts of a case."""
    return [part.replace(SPACE, " ") for part in row.split()]


def _is_row(node: SyntaxNode) -> bool:
    if node.kind == "keyed_element":
        return bool(node.children) and _unwrap(node.children[0]) is not None
    return len(node.children) == 1 and node.children[0].kind in _COMPOSITE


def _list_plain(node: SyntaxNode, above: list[SyntaxNode]) -> Iterator[str]:
    """Cases that are one value each, of lists that something goes through, and lines of templates."""
    if node.kind == "string_array" and _is_gone_through(above):
        words = node.text.strip("%wWiI[](){}<>|").split()
        yield from (f'"{word}"' for word in words[:_MOST_ROWS])
    elif node.kind == "template_string" and "|" in node.text and _is_gone_through(above):
        lines = [line.strip() for line in node.text.strip("`").split("\n") if line.strip()]
        yield from (line.replace(" ", SPACE) for line in lines[1:_MOST_ROWS])
    elif node.kind == "list" and len(names := _list_names(node)) > 1 and _is_parametrized(above):
        yield from names[:_MOST_ROWS]
    elif node.kind in _PLAIN_LISTS and len(values := _list_values(node)) > 1 and _is_gone_through(above):
        yield from (value.replace(" ", SPACE) for value in values[:_MOST_ROWS])
    else:
        above.append(node)
        for child in node.children:
            if child.children or child.kind in {"string_array", "template_string"}:
                yield from _list_plain(child, above)
        above.pop()


def _list_values(node: SyntaxNode) -> list[str]:
    """The elements of a list of literals; nothing if one of them is more."""
    items = [child for child in node.children if child.children or len(child.text) > 1 or child.text.isalnum()]
    values = [_unwrap(child) for child in items]
    known = [value for value in values if value is not None]
    return known if len(known) == len(values) else []


def _list_names(node: SyntaxNode) -> list[str]:
    """The elements of a list of names, such as those of functions; nothing if one of them is more."""
    items = [child for child in node.children if child.children or child.text[:1].isalpha()]
    is_named = all(child.kind in {"attribute", "identifier"} for child in items)
    return [join_row(child) for child in items] if is_named else []


def _is_parametrized(above: Sequence[SyntaxNode]) -> bool:
    """Whether a list is what a test is parametrized with."""
    call = above[-2] if len(above) > 1 and above[-1].kind == "argument_list" else None
    return call is not None and call.kind in CALLS and find_callee(call)[-1:] == ["parametrize"]


def _unwrap(node: SyntaxNode) -> str | None:
    """A literal, alone or in what some grammars put around it."""
    while len(node.children) == 1:
        node = node.children[0]
    return join_text(node) if not node.children and is_literal(node) else None


def _is_gone_through(above: list[SyntaxNode]) -> bool:
    """Whether a list is what a loop, a parametrised test or a constant of the file consists of."""
    for parent in reversed(above[-_NEAREST:]):
        if parent.kind in _BODIES or parent.kind in _LISTS or parent.kind in _MAPS:
            return False  # a row of a table is no table
        if parent.kind in _LOOPS or parent.kind == "range_clause":
            return True
        if parent.kind in CALLS:
            return find_callee(parent)[-1:] != [] and find_callee(parent)[-1] in _GOES_THROUGH
        if parent.kind in {"annotation", "attribute"}:
            return _OF_VALUES.search(join_text(parent)) is not None
        if parent.kind in _DECLARATIONS:
            return not any(each.kind in _CLOSURES for each in above)
    return False
