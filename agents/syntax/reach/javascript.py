"""Decides for tests in JavaScript and TypeScript whether they use only pure globals, the framework and own files."""

import posixpath
import re
from collections.abc import Collection, Iterator, Sequence

from agents.syntax.reach.texts import is_plain
from agents.syntax.trees import SyntaxNode

_FRAMEWORKS = frozenset(
    [
        "vitest",
        "@jest/globals",
        "mocha",
        "chai",
        "uvu",
        "uvu/assert",
        "node:test",
        "node:assert",
        "node:assert/strict",
        "assert",
        "assert/strict",
    ]
)
_GLOBAL_NAMES = """
    describe it test suite context specify expect assert beforeEach afterEach beforeAll afterAll before after
    undefined NaN Infinity Math JSON Array String Number Boolean Symbol BigInt Map Set WeakMap WeakSet Date RegExp
    Promise Error TypeError RangeError SyntaxError AggregateError parseInt parseFloat isNaN isFinite console
    structuredClone
    encodeURIComponent decodeURIComponent Int8Array Uint8Array Uint16Array Uint32Array Float64Array ArrayBuffer
"""
_GLOBALS = frozenset(_GLOBAL_NAMES.split())
_MEMBERS = {
    "Object": frozenset({"keys", "values", "entries", "fromEntries", "freeze", "is"}),
    "vi": frozenset({"fn", "spyOn", "clearAllMocks", "resetAllMocks", "restoreAllMocks", "mocked"}),
    "jest": frozenset({"fn", "spyOn", "clearAllMocks", "resetAllMocks", "restoreAllMocks"}),
}
"""Globals of which some members are harmless."""
_BY_DEFAULT = frozenset({"node:assert", "node:assert/strict", "assert", "assert/strict", "chai"})
_NEVER = frozenset({"constructor", "prototype", "caller", "callee", "arguments", "__proto__"})
_RUNS = frozenset({"run", "mock", "as", "importOriginal"})
"""Exports of a framework that run files, or that would get another name here."""
_REFUSED = re.compile(
    r"^(this|import|meta_property|computed_property_name|jsx_\w+|with_statement|delete|decorator|object_assignment_pattern)$"
)
_TEXT = re.compile(r"^(string|string_fragment|template_string)$")
_ESCAPED = re.compile(r"\\(?![nrt'\"\\])")
"""An escape that spells a letter."""
_SCOPES = re.compile(
    r"program|function|arrow|method_definition|statement_block|for_statement|for_in_statement|catch_clause|class_body"
)
_PATTERNS = frozenset({"object_pattern", "array_pattern", "rest_pattern", "pair_pattern", "assignment_pattern"})
_WRITES = frozenset({"assignment_expression", "augmented_assignment_expression", "update_expression"})
_DECLARED = frozenset({"function_declaration", "generator_function_declaration", "class_declaration"})


def stays(path: str, text: str, added: Sequence[SyntaxNode], tree: SyntaxNode, own: Collection[str]) -> bool:
    """Whether added tests use only what is known; see :func:`agents.syntax.reach.stays_by_itself`."""
    imported = {name: module for node in tree.children for name, module in _read_import(node)}
    foreign = {name for name, module in imported.items() if not _is_known_module(path, module)}
    top = frozenset(imported) - foreign
    old = [node for node in tree.children if not any(node is each for each in added)]
    if not any(each is tree for each in added):
        plain = [node for node in old if node.kind in _DECLARED or _is_known(path, node, top)]
        top |= frozenset(name for node in plain for name in _list_declared(node))
        foreign |= {name for node in old if not any(node is each for each in plain) for name in _list_declared(node)}
    used = {each.text for node in added for each in node.walk() if each.kind == "identifier"}
    return foreign.isdisjoint(used) and all(_is_known(path, node, top) for node in added)


def _read_import(node: SyntaxNode) -> Iterator[tuple[str, str]]:
    """The names of an import, or of ``const a = require("b")``, with the module."""
    if node.kind == "import_statement":
        module = _find_text(node)
        clause = node.find("import_clause")
        for each in clause.walk() if clause is not None else ():
            if each.kind == "import_specifier":
                yield [leaf.text for leaf in each.children if leaf.kind == "identifier"][-1], module
            elif each.kind in {"import_clause", "namespace_import"}:
                yield from ((leaf.text, module) for leaf in each.children if leaf.kind == "identifier")


def _is_known_module(path: str, module: str) -> bool:
    """Whether it is a framework of tests, or a file of the repository."""
    if not module.startswith(("./", "../")):
        return module in _FRAMEWORKS
    place = posixpath.normpath(posixpath.join(posixpath.dirname(path), module))
    return not place.startswith("..") and "node_modules" not in place.split("/") and "\\" not in module


def _find_text(node: SyntaxNode) -> str:
    texts = [each.text for each in node.walk() if each.kind == "string" and each.text]
    return texts[-1][1:-1] if texts else ""


def _is_known(path: str, node: SyntaxNode, scope: frozenset[str]) -> bool:
    """Whether a node, and all below it, uses only what is known where it stands."""
    if node.kind == "import_statement":
        return _is_known_import(path, node)
    if node.kind == "export_statement" and any(each.kind == "from" for each in node.children):
        return False
    if _REFUSED.match(node.kind) or node.text in _NEVER:
        return False
    if node.kind == "member_expression":
        return _is_known_member(path, node, scope)
    if node.kind == "call_expression" and _is_require(node):
        return _is_known_module(path, _find_text(node))
    if not node.children:
        return _is_known_leaf(node, scope)
    if node.kind == "subscript_expression" and not _has_plain_index(node):
        return False
    if node.kind in _WRITES and any(each.kind == "member_expression" for each in _walk_target(node)):
        return False
    if _SCOPES.search(node.kind):
        scope |= frozenset(_list_scope(node))
    return all(_is_known(path, each, scope) for each in node.children if not _is_label(node, each))


def _is_known_leaf(node: SyntaxNode, scope: frozenset[str]) -> bool:
    if _TEXT.match(node.kind):
        bare = node.text.strip("\"'`")
        return is_plain(bare) and bare not in _NEVER and _ESCAPED.search(bare) is None
    if node.kind in {"identifier", "shorthand_property_identifier"}:
        return "\\" not in node.text and node.text not in _MEMBERS and (node.text in scope or node.text in _GLOBALS)
    if node.kind in {"property_identifier", "private_property_identifier"}:
        return "\\" not in node.text and not node.text.startswith("__")
    return True


def _walk_target(node: SyntaxNode) -> Iterator[SyntaxNode]:
    """What an assignment writes to."""
    for side in node.children if node.kind == "update_expression" else node.children[:1]:
        yield from side.walk()


def _is_known_import(path: str, node: SyntaxNode) -> bool:
    """Whether an import is of a file of the repository, or takes from a framework, by name, what only tests."""
    module, words = _find_text(node), {each.text for each in node.walk()}
    kinds = {each.kind for each in node.walk()}
    is_bare = "namespace_import" not in kinds and _RUNS.isdisjoint(words)
    clause = node.find("import_clause")
    is_named = clause is not None and all(each.kind != "identifier" for each in clause.children)
    is_taken = module in _BY_DEFAULT or (is_bare and is_named)
    return _is_known_module(path, module) and (module.startswith(".") or is_taken)


def _is_label(node: SyntaxNode, child: SyntaxNode) -> bool:
    """Whether a name is being given, and not used."""
    return (node.kind in _DECLARED or node.kind in {"function_expression", "class"}) and child.kind == "identifier"


def _is_known_member(path: str, node: SyntaxNode, scope: frozenset[str]) -> bool:
    first, last = node.children[0], node.children[-1]
    if first.kind == "identifier" and first.text in _MEMBERS:
        return last.text in _MEMBERS[first.text]
    return all(_is_known(path, each, scope) for each in node.children)


def _is_require(node: SyntaxNode) -> bool:
    """Whether it is ``require("a")`` with one plain text."""
    function, arguments = node.children[0], node.children[-1]
    inner = [each for each in arguments.children if each.kind not in {"(", ")"}]
    return function.text == "require" and len(inner) == 1 and inner[0].kind == "string"


def _has_plain_index(node: SyntaxNode) -> bool:
    """Whether an element is named by a number or a plain word."""
    index = [each for each in node.children[1:] if each.kind not in {"[", "]", "?.", "optional_chain"}]
    return all(
        each.kind == "number"
        or (
            each.kind == "string"
            and re.fullmatch(r"[\"'][A-Za-z ]\w*[\"']", each.text) is not None
            and each.text[1:-1] not in _NEVER
        )
        for each in index
    )


def _list_scope(node: SyntaxNode) -> Iterator[str]:
    """The names that a scope declares itself: its parameters, and what its statements declare."""
    for each in node.children:
        if each.kind in {"of", "in", "=>"}:  # what follows is used, not declared
            return
        if each.kind in {"formal_parameters", "identifier"} or each.kind in _PATTERNS:
            yield from _list_bound(each)
        else:
            yield from _list_declared(each)


def _list_declared(statement: SyntaxNode) -> Iterator[str]:
    """The names that a statement declares where it stands."""
    if statement.kind in _DECLARED:
        yield from (each.text for each in statement.children[:3] if each.kind in {"identifier", "type_identifier"})
    elif statement.kind in {"lexical_declaration", "variable_declaration"}:
        for each in statement.children:
            if each.kind == "variable_declarator":
                yield from _list_bound(each.children[0])
    elif statement.kind == "export_statement":
        for each in statement.children:
            yield from _list_declared(each)


def _list_bound(pattern: SyntaxNode) -> Iterator[str]:
    """The names that a parameter, or the left side of a declaration, binds."""
    if pattern.kind in {"identifier", "shorthand_property_identifier_pattern"}:
        yield pattern.text
    elif pattern.kind in {"formal_parameters", "required_parameter", "optional_parameter"} or pattern.kind in _PATTERNS:
        bound = (
            pattern.children[:1] if pattern.kind in {"required_parameter", "assignment_pattern"} else pattern.children
        )
        for each in bound:
            yield from _list_bound(each)
