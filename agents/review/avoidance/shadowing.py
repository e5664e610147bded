"""Finds definitions that a later one of the same name replaces, so that a runner never sees them."""

from collections.abc import Iterator, Mapping

from agents.syntax.trees import FUNCTIONS, SyntaxNode, find_name

_CLASSES = frozenset({"class_definition", "class", "module"})
_SCOPES = frozenset({"module", "block", "program", "body_statement"})
_LANGUAGES = frozenset({"python", "ruby", "bash"})
"""Those in which a second definition is no error."""
_TITLED = "bats_"
"""What tests of bats are called, two of which bats itself refuses."""


def find_shadowed(tree: SyntaxNode, language: str) -> Mapping[int, int]:
    """The first line of a function → the line of what replaces it."""
    if language not in _LANGUAGES:
        return {}
    found = dict[int, int]()
    known = dict[tuple[str, str], SyntaxNode]()
    for scope, name, node in _walk(tree, language, ""):
        earlier = known.get((scope, name))
        if earlier is not None and not name.startswith(_TITLED):
            found |= dict.fromkeys(_list_lines(earlier), node.start)
        known[scope, name] = node
    return found


def _list_lines(node: SyntaxNode) -> list[int]:
    """The lines of the function, or of all functions of the class, that a node defines."""
    return [each.start for each in node.walk() if each.kind in FUNCTIONS]


def _walk(node: SyntaxNode, language: str, scope: str) -> Iterator[tuple[str, str, SyntaxNode]]:
    """What is bound in a file: where, its name, and by which node, in order."""
    inner = f"{scope}@{node.start}" if node.kind in _SCOPES and language == "python" else scope
    for child in node.children:
        is_definition = child.children and (child.kind in FUNCTIONS or child.kind in _CLASSES)
        name = find_name(child) if is_definition else ""
        if child.kind in FUNCTIONS and name:
            yield inner, name, child
            continue
        if child.kind in _CLASSES and name:
            if language == "python":  # Ruby opens a class again
                yield inner, name, child
            yield from _walk(child, language, f"{inner}.{name}")
            continue
        if language == "python":
            yield from ((inner, bound, child) for bound in _list_bound(child))
        yield from _walk(child, language, inner)


def _list_bound(node: SyntaxNode) -> list[str]:
    """The names that a statement of Python gives another meaning, or none."""
    if node.kind == "delete_statement":
        return [each.text for each in node.walk() if each.kind == "identifier"]
    if node.kind == "expression_statement" and node.children and node.children[0].kind == "assignment":
        target = node.children[0].children[0]
        return [target.text] if target.kind == "identifier" else []
    return []
