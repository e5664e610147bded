"""Outlines what surrounds the changed lines of a file, from the syntax trees of both versions."""

import itertools
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from agents.syntax.trees import FUNCTIONS, SyntaxNode, find_name, parse
from domain.review.reading import NO_OUTLINE, FunctionSpan, Outline

_CLASSES = frozenset(
    {
        *("class_definition", "class_declaration", "class", "interface_declaration", "struct_item", "enum_item"),
        *("trait_item", "impl_item", "struct_specifier", "class_specifier", "type_declaration", "module"),
        *("trait_declaration", "struct_declaration", "record_declaration", "enum_declaration", "namespace_definition"),
    }
)
_FUNCTION_VALUES = frozenset({"arrow_function", "function_expression", "function", "lambda"})
_GIVES_A_NAME = re.compile(
    r"assign|declarator$|short_var|(const|var|static|field|property)_|^let_|^property|parameter$"
)
_ATTRIBUTES = frozenset({"attribute", "member_expression", "field_expression", "selector_expression", "field_access"})
_EXITS = frozenset({"return", "raise", "break", "continue", "throw", "goto", "exit", "next"})
_USUAL_NAMES = "self this cls err error ctx context args kwargs value result data item name path key None True False"
_USUAL = frozenset(_USUAL_NAMES.split())
_OWN = frozenset({"self", "this", "cls", "Self"})
_SHORTEST = 3  # characters of a name that is looked for
_MOST_USES, _MOST_USES_OF_ONE, _MOST_CALLED = 24, 4, 6


def outline_file(language: str, base: str | None, head: str, added: list[int], removed: list[int]) -> Outline:
    """Outline a changed file; empty if its head cannot be parsed.

    :param language: a value of :data:`agents.syntax.languages.LANGUAGES`.
    :param base: its text before; None for a new file.
    :param added: the lines at head that the change adds; where it only removes, the one after.
    :param removed: the lines of the base that it removes.
    """
    after = parse(head, language)
    if after is None:
        return NO_OUTLINE
    before = None if base is None else parse(base, language)
    tree, new, old = after.tree, frozenset(added), frozenset(removed)
    gone = () if before is None else _list_defined(before.tree, old)
    defined = {*gone, *_list_defined(tree, new)}
    given = {*_list_given(tree, new), *(() if before is None else _list_given(before.tree, old))}
    lost = set[str]() if before is None else _list_identifiers(before.tree, old) - _list_identifiers(tree, new)
    return Outline(
        spans=tuple(_list_spans(tree, new)),
        exits=tuple(sorted({each.start for each in tree.walk() if each.kind in _EXITS and each.start in new})),
        uses=tuple(_list_uses(tree, _filter(defined | lost), _filter(given - defined), new, head.split("\n"))),
        called=tuple(_list_called(tree, new))[:_MOST_CALLED],
    )


def _filter(names: Collection[str]) -> list[str]:
    return [name for name in names if len(name) >= _SHORTEST and name not in _USUAL and not name.startswith("__")]


def _meets(node: SyntaxNode, lines: Collection[int]) -> bool:
    return any(node.start <= line <= node.end for line in lines)


def _list_called(tree: SyntaxNode, lines: Collection[int]) -> Iterator[FunctionSpan]:
    """What changed lines name, not as a part of something else, and the file defines once, elsewhere."""
    there = [each for each in tree.walk() if each.start in lines]
    parts = [each for each in there if each.kind in _ATTRIBUTES and each.children]
    foreign = {_list_names(each)[-1] for each in parts if each.children[0].text not in _OWN and _list_names(each)}
    named = {each.text for each in there if _is_name(each)} - foreign
    defined = [(node, name) for node in tree.walk() if (name := _find_defined(node)) and node.end > node.start]
    counts = Counter(name for _, name in defined)
    for node, name in defined:
        if name in named and counts[name] == 1 and not _meets(node, lines):
            yield _build_span(node, name)


def _build_span(node: SyntaxNode, name: str) -> FunctionSpan:
    return FunctionSpan(name=name, start=node.start, body=_find_body(node), end=node.end)


def _list_spans(tree: SyntaxNode, lines: Collection[int]) -> Iterator[FunctionSpan]:
    for node in tree.walk():
        name = _find_defined(node)
        if name and node.end > node.start and _meets(node, lines):
            yield _build_span(node, name)


def _find_defined(node: SyntaxNode) -> str | None:
    """The name of a function or class, or nothing; of one that is a value: ``const f = () => 1``."""
    is_value = node.kind == "variable_declarator" and any(child.kind in _FUNCTION_VALUES for child in node.children)
    is_definition = (node.kind in FUNCTIONS or node.kind in _CLASSES) and len(node.children) > 1
    return find_name(node) if is_value or is_definition else None


def _find_body(node: SyntaxNode) -> int:
    """The first line of the last part that spans lines."""
    return next((child.start for child in reversed(node.children) if child.end > child.start), node.start)


def _list_defined(tree: SyntaxNode, lines: Collection[int]) -> Iterator[str]:
    """The functions in which a line changed, the innermost first, classes whose heads did, and values others see."""
    found = [(node, name) for node in tree.walk() if (name := _find_defined(node)) and _meets(node, lines)]
    yield from (name for node, name in reversed(found) if node.kind not in _CLASSES or node.start in lines)
    inside = [node for node, _ in found if node.kind not in _CLASSES]
    yield from _list_given(tree, {line for line in lines if not any(_meets(node, (line,)) for node in inside)})
    assigned = (node.children[0] for node in tree.walk() if node.start in lines and "assign" in node.kind)
    yield from (_list_names(target)[-1] for target in assigned if target.kind in _ATTRIBUTES)


def _list_given(tree: SyntaxNode, lines: Collection[int]) -> Iterator[str]:
    """Names that changed lines assign or declare."""
    for node in tree.walk():
        if node.start in lines and node.children and _GIVES_A_NAME.search(node.kind):
            parts = (names[-1] for child in node.children if (names := _list_names(child)))
            yield from itertools.islice(parts, 1)


def _list_names(node: SyntaxNode) -> list[str]:
    return [each.text for each in node.walk() if _is_name(each)]


def _list_identifiers(tree: SyntaxNode, lines: Collection[int]) -> set[str]:
    return {each.text for each in tree.walk() if each.start in lines and _is_name(each)}


def _is_name(node: SyntaxNode) -> bool:
    return not node.children and node.kind.endswith(("identifier", "name", "constant"))


def _list_uses(
    tree: SyntaxNode, names: Collection[str], own: Collection[str], changed: Collection[int], text: Sequence[str]
) -> list[int]:
    """Unchanged lines with one of some names: a few of each, and of those that read the same the first.

    :param own: names that only the functions around changed lines know.
    """
    inside = [
        node for node in tree.walk() if node.kind not in _CLASSES and _find_defined(node) and _meets(node, changed)
    ]
    places: dict[str, list[int]] = {}
    for node in tree.walk():
        is_own = node.text in own and any(_meets(each, (node.start,)) for each in inside)
        if _is_name(node) and (is_own or node.text in names) and node.start not in changed:
            lines = places.setdefault(node.text, [])
            if node.start not in lines and len(lines) < _MOST_USES_OF_ONE:
                lines.append(node.start)
    found = sorted({line for lines in places.values() for line in lines}, reverse=True)
    return sorted({text[line - 1].strip(): line for line in found}.values())[:_MOST_USES]
