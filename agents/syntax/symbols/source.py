"""Finds where a name stands in a file, and what it does there: defines, binds, imports or uses."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any, cast

from ast_grep_py import SgNode, SgRoot

from agents.syntax.symbols.grammars import GRAMMARS, Grammar
from agents.syntax.symbols.modules import Import, read_imports
from agents.syntax.trees import LARGEST, LONGEST_LINE

UNREADABLE = "?"
"""A receiver that is no plain chain of names."""


class Role(StrEnum):
    """What a name does where it stands."""

    definition = "definition"  # of a function, class, value or member that others may see
    binding = "binding"  # of a local name
    use = "use"
    heir = "heir"  # the class around says that it builds on it
    none = "none"  # an import or a label


@dataclass(frozen=True, eq=False)
class NamePlace:
    """A name where it stands.

    :param line: its own line, from 1.
    :param start: the first line of what it defines or binds; else its own.
    :param end: the last one.
    :param receiver: the text before its dot; empty if there is none.
    :param is_called: it is called or constructed.
    :param is_class: it defines a class or another type.
    :param owner: the class around it, or that a method belongs to.
    :param scope: the lines of the outermost function around it.
    :param within: the lines of the innermost function with a name around it.
    :param declaration: what defines or binds it, as text; of a use, what follows on its line.
    """

    name: str
    path: str
    role: Role
    line: int
    start: int
    end: int
    receiver: str = ""
    is_called: bool = False
    is_class: bool = False
    owner: str = ""
    scope: tuple[int, int] | None = None
    within: tuple[int, int] | None = None
    declaration: str = ""

    @property
    def key(self) -> tuple[str, str, str]:
        """What tells a definition from others."""
        return self.path, "" if self.is_class else self.owner, self.name


_DEEPEST = 150  # levels above a name; code that people write has fewer
_MOST_PLACES = 120  # of one name in one file
_LONGEST_DECLARATION = 400  # characters of one that are read
_LONGEST_IMPORT = 8_000  # characters of one that are read
_BEFORE, _AFTER = 300, 120  # characters beside a name that are read
_JAVASCRIPT = frozenset({"javascript", "typescript", "tsx"})
_TYPED_OUTSIDE = frozenset({"variable_declarator", "property_element"})
"""Nodes whose type stands in the node around them, in Java, C# and PHP."""
_HEAD_KINDS = (
    "superclass super_interfaces interfaces extends_interfaces class_heritage extends_type_clause argument_list "
    "base_list base_clause class_interface_clause base_class_clause"
)
_HEADS = frozenset(_HEAD_KINDS.split())
"""Parts of a class that say what it builds on."""
_INCLUDES = re.compile(r"\b(?:include|extend|prepend)[ (]+[\w:]*$")
_ARGUMENTS = re.compile(r"\s*(?:(?:::)?<[^<>(){};]*(?:<[^<>(){};]*>[^<>(){};]*)*>|!)?\s*\(")
_CONSTRUCTS = re.compile(r"(?:\bnew\s+[\w.\\:]*|^\s*@[\w.]*)$", re.MULTILINE)
_IS_MARKUP = re.compile(r"<[\w.]*$")
_STRUCT = re.compile(r"\s*(?:<[^<>(){};]*>)?\s*\{")
_LINK = r"\s*(?:\?\.|\?->|->|::|&\.|!\.|(?<!\.)\.|\\)\s*[$#]?"
_CALLED = r"(?:\((?:[^()]|\([^()]*\))*\))?"
_CHAIN = re.compile(
    rf"((?:(?<!\.)\bnew[ \t]+)?[$@\\]{{0,2}}[A-Za-z_][\w$]*[!?]?(?:<[\w, .]*>)?{_CALLED}"
    rf"(?:{_LINK}[A-Za-z_][\w$]*[!?]?{_CALLED})*){_LINK}$"
)
_IS_LINKED = re.compile(_LINK + "$")
_DEFAULT = re.compile(
    r"^(?:export\s+default\s+(?:async\s+)?(?:abstract\s+)?(?:function\s*\*?|class)?\s*|module\.exports\s*=\s*(?:new\s+)?)"
    r"([A-Za-z_$][\w$]*)",
    re.MULTILINE,
)
_PACKAGE = re.compile(r"^\s*(?:package|namespace)\s+([\w.\\]+)", re.MULTILINE)
_TYPES = frozenset({"type_alias_declaration", "type_item", "type_alias", "type_definition"})


@dataclass
class _Around:
    """What stands around a name."""

    owner: str = ""
    scope: SgNode | None = None
    within: SgNode | None = None
    is_heir: bool = False
    is_local: bool = False


class SourceFile:
    """A file with its tree.

    :raises ValueError: people did not write it: it is too large, or has too long lines.
    """

    def __init__(self, path: str, language: str, text: str) -> None:
        if len(text) > LARGEST or max(map(len, text.split("\n"))) > LONGEST_LINE:
            raise ValueError(path)
        self.path, self.language, self.text = path, language, text.removeprefix("\ufeff")
        self._grammar: Grammar = GRAMMARS[language]
        self._names = [{"kind": kind} for kind in self._grammar.names]
        self._root = SgRoot(self.text, language).root()
        self._places: dict[str, tuple[NamePlace, ...]] = {}

    @cached_property
    def imports(self) -> tuple[Import, ...]:
        """What the file imports."""
        kinds = [{"kind": kind} for kind in sorted(self._grammar.imports)]
        nodes = self._find({"any": kinds}) if kinds else []
        return tuple(read_imports(self.language, [node.text()[:_LONGEST_IMPORT] for node in nodes]))

    @cached_property
    def package(self) -> str:
        """The package or namespace that it says it belongs to."""
        found = _PACKAGE.search(self.text)
        return "" if found is None else found[1]

    @cached_property
    def default(self) -> str:
        """The name of what a module of JavaScript exports by default."""
        found = _DEFAULT.search(self.text)
        return "" if found is None else found[1]

    def exports(self, name: str) -> bool:
        """Whether a module of JavaScript names something among its exports that it may have from elsewhere."""
        return re.search(rf"\bexports?\b[^;{{}}]*\{{[^{{}}]*\b{re.escape(name)}\b[^{{}}]*\}}", self.text) is not None

    def find(self, name: str) -> tuple[NamePlace, ...]:
        """Where a name stands, in order; of very many places the first."""
        if name not in self._places:
            self._places[name] = tuple(self._search(name)) if name and name in self.text else ()
        return self._places[name]

    def find_definitions(self, name: str) -> list[NamePlace]:
        """What the file defines under a name, for others to see."""
        return [place for place in self.find(name) if place.role is Role.definition]

    def find_top(self, name: str) -> NamePlace | None:
        """What a name means at the top of the file: a function, value or class of its own."""
        return next((each for each in self.find_definitions(name) if each.is_class or not each.owner), None)

    def list_places(self, lines: Sequence[int]) -> Iterator[NamePlace]:
        """All names on some lines."""
        wanted = frozenset(lines)
        for leaf in self._find({"any": self._names}):
            if leaf.range().start.line + 1 in wanted and (place := self._read(leaf)) is not None:
                yield place

    @cached_property
    def definitions(self) -> tuple[NamePlace, ...]:
        """All that it defines for others to see."""
        grammar = self._grammar
        fields = {kind: (name,) for kind, name in (*grammar.classes.items(), *grammar.definitions.items())}
        fields = {**fields, **grammar.values, **({"assignment_expression": ("left",)} if self._is_javascript else {})}
        nodes = self._find({"any": [{"kind": kind} for kind in fields]})
        leaves = (leaf for node in nodes for leaf in self._list_leaves(node, fields[node.kind()]))
        places = [self._read(leaf) for leaf in leaves if self._classify(leaf)[0] is Role.definition]
        return tuple(place for place in places if place is not None and place.role is Role.definition)

    def _list_leaves(self, node: SgNode, fields: Sequence[str]) -> Iterator[SgNode]:
        """The names in some fields of a node; if none are given, among its children."""
        for child in [each for name in fields for each in node.field_children(name)] if fields else node.children():
            if child.kind() in self._grammar.names:
                yield child
            else:
                yield from child.find_all(cast(Any, {"rule": {"any": self._names}}))

    @property
    def _is_javascript(self) -> bool:
        return self.language in _JAVASCRIPT

    @cached_property
    def _import_lines(self) -> frozenset[int]:
        """The lines of statements that only import."""
        kinds = [{"kind": kind} for kind in sorted(self._grammar.imports - _EXPORTS)]
        spans = [node.range() for node in self._find({"any": kinds})] if kinds else []
        ends = [span.end.line + (span.end.column > 0) for span in spans]
        return frozenset(line for span, end in zip(spans, ends, strict=True) for line in range(span.start.line, end))

    def read_class(self, place: NamePlace) -> str:
        """The text of a class that a place defines."""
        return "\n".join(self.text.split("\n")[place.start - 1 : place.end])

    def _find(self, rule: dict[str, Any]) -> list[SgNode]:
        return self._root.find_all(cast(Any, {"rule": rule}))

    def _search(self, name: str) -> Iterator[NamePlace]:
        for leaf in self._find({"any": self._names, "regex": f"^{re.escape(name)}$"})[:_MOST_PLACES]:
            place = self._read(leaf)
            if place is not None:
                yield place

    def _read(self, leaf: SgNode) -> NamePlace | None:
        """None if it nests deeper than people write."""
        role, node = self._classify(leaf)
        around = self._look_around(node)
        if around is None:
            return None
        span, own = node.range(), leaf.range()
        before = self.text[max(0, own.start.index - _BEFORE) : own.start.index]
        after = self.text[own.end.index : own.end.index + _AFTER]
        receiver = _read_receiver(before)
        includes = self.language == "ruby" and _INCLUDES.search(before) is not None
        if role is Role.definition and around.is_local:
            role = Role.binding
        elif role is Role.use and leaf.text() != around.owner and (around.is_heir or includes):
            role = Role.heir
        return NamePlace(
            name=leaf.text(),
            path=self.path,
            role=role,
            line=own.start.line + 1,
            start=span.start.line + 1,
            end=span.end.line + 1,
            receiver=receiver,
            is_called=self._is_called(leaf.text(), receiver, before, after),
            is_class=role is Role.definition and (node.kind() in self._grammar.classes or node.kind() in _TYPES),
            owner=self._find_owner(node, receiver, around.owner) if role is Role.definition else around.owner,
            scope=_span(around.scope),
            within=_span(around.within),
            declaration=self._declare(role, node, own.start.index),
        )

    def _classify(self, leaf: SgNode) -> tuple[Role, SgNode]:
        """What a name does, and the node that it defines or binds, else itself."""
        grammar, inner, outer = self._grammar, leaf, leaf.parent()
        while outer is not None:
            kind = outer.kind()
            if self._defines(outer, inner):
                return Role.definition, outer
            if kind in grammar.values and _holds(outer, grammar.values[kind], inner):
                return self._classify_value(outer)
            if kind in grammar.bindings and _holds(outer, grammar.bindings[kind], inner):
                return Role.binding, outer
            if kind in grammar.keys and outer.child(0) == inner:
                return Role.none, leaf
            if kind not in grammar.wraps or (kind == "qualified_identifier" and outer.field("scope") == inner):
                break
            inner, outer = outer, outer.parent()
        return self._classify_use(leaf)

    def _classify_use(self, leaf: SgNode) -> tuple[Role, SgNode]:
        node = leaf.parent()
        if node is None or leaf.range().start.line in self._import_lines:
            return Role.none, leaf
        kind = node.kind()
        if kind == "member_expression" and self._is_javascript and (outer := node.parent()) is not None:
            is_assigned = outer.kind() == "assignment_expression" and outer.field("left") == node
            return self._classify_assigned(leaf, outer) if is_assigned else (Role.use, leaf)
        is_variable = kind == "variable_name" and self.language == "php"
        return (Role.none if is_variable or kind in _PASSES_ON else Role.use), leaf

    def _classify_assigned(self, leaf: SgNode, node: SgNode) -> tuple[Role, SgNode]:
        """Of ``exports.load = …`` and ``Till.prototype.load = …`` the last name defines something."""
        left, right = node.field("left"), node.field("right")
        if left is None or right is None or left.field("property") != leaf:
            return Role.use, leaf
        is_function = right.kind() in self._grammar.functions
        is_export = re.match(r"(module\.)?exports\.", left.text()) is not None
        return (Role.definition, node) if is_export or (is_function and "this" not in left.text()) else (Role.use, leaf)

    def _classify_value(self, node: SgNode) -> tuple[Role, SgNode]:
        value = node.field("value")
        is_loaded = value is not None and re.match(r"(await )?(require|import)\b", value.text()) is not None
        if self._is_javascript and is_loaded:
            return Role.none, node
        if node.kind() == "pair" and (value is None or value.kind() not in self._grammar.functions):
            return Role.none, node
        return Role.definition, node

    def _defines(self, outer: SgNode, inner: SgNode) -> bool:
        kind, grammar = outer.kind(), self._grammar
        if kind in grammar.definitions:
            return outer.field(grammar.definitions[kind]) == inner
        is_named = kind in grammar.classes and kind != "impl_item" and outer.field(grammar.classes[kind]) == inner
        return is_named and (self.language not in {"c", "cpp"} or outer.field("body") is not None)

    def _look_around(self, node: SgNode) -> _Around | None:
        """What stands around a node; None if it nests too deep."""
        around, inner, outer = _Around(), node, node.parent()
        for _ in range(_DEEPEST):
            if outer is None:
                return around
            kind = outer.kind()
            if kind in self._grammar.functions:
                around.is_local = around.is_local or not around.owner
                around.scope = outer
                around.within = around.within or (outer if kind in self._grammar.definitions else None)
            elif kind in self._grammar.classes and not around.owner:
                around.owner = _name_class(outer, self._grammar)
                is_trait = kind == "impl_item" and outer.field("trait") == inner
                around.is_heir = around.is_heir or is_trait or inner.kind() in _HEADS
            elif kind in _EMBEDDING and outer.field("name") is None and self.language in {"go", "php"}:
                around.is_heir = True
            elif kind == "object" and not around.owner and self._is_javascript:
                around.owner = _name_object(outer)
                around.is_local = around.is_local or around.owner == UNREADABLE
            inner, outer = outer, outer.parent()
        return None

    def _find_owner(self, node: SgNode, receiver: str, around: str) -> str:
        """The class that a definition belongs to, also where it stands apart from it, as in Go, C++ and JavaScript."""
        if self.language == "go" and node.kind() == "method_declaration":
            found = re.match(r"func\s*\(\s*(?:\w+\s+)?\*?\s*(\w+)", node.text()[:_LONGEST_DECLARATION])
            return "" if found is None else found[1]
        if node.kind() == "assignment_expression" and self._is_javascript:
            return "" if receiver.endswith("exports") else receiver.removesuffix(".prototype").split(".")[-1]
        if node.kind() == "enumerator":
            return ""  # C knows it without its type
        if self.language == "cpp" and receiver not in {"", UNREADABLE}:
            return re.split(r"::", receiver.split("<")[0])[-1]
        return "" if around == "exports" else around

    def _is_called(self, name: str, receiver: str, before: str, after: str) -> bool:
        if self.language in {"go", "rust"} and name[:1].isupper() and _STRUCT.match(after):
            return True
        if self.language in {"javascript", "tsx"} and _IS_MARKUP.search(before):
            return True
        is_called = _ARGUMENTS.match(after) is not None or _CONSTRUCTS.search(before) is not None
        return is_called or (self.language == "ruby" and name[:1].islower())

    def _declare(self, role: Role, node: SgNode, start: int) -> str:
        if role not in {Role.definition, Role.binding}:
            return self.text[start : start + _AFTER].split("\n", 1)[0]
        outer = node.parent()
        is_typed_outside = node.kind() in _TYPED_OUTSIDE and self.language in {"java", "csharp", "php"}
        return (outer if is_typed_outside and outer is not None else node).text()[:_LONGEST_DECLARATION]


_EXPORTS = frozenset({"export_statement", "variable_declarator"})
"""Nodes that may import, but mostly do something else."""
_PASSES_ON = frozenset({"export_specifier", "namespace_export"})
_EMBEDDING = frozenset({"field_declaration", "type_elem", "use_declaration"})
"""Nodes that take all members of another type in."""


def _read_receiver(before: str) -> str:
    """What stands before the dot before a name."""
    if not before.rstrip(" \t\r\n$#").endswith((".", "::", "->", "\\")) or _IS_LINKED.search(before) is None:
        return ""
    chain = _CHAIN.search(before)
    return UNREADABLE if chain is None else " ".join(chain[1].split())


def _name_class(node: SgNode, grammar: Grammar) -> str:
    name = node.field(grammar.classes[node.kind()])
    return "" if name is None else re.split(r"[<({]", name.text(), maxsplit=1)[0].split("::")[-1].strip()


def _name_object(node: SgNode) -> str:
    """What an object is called; ``exports`` if a module exports it, and unreadable if it is a mere value."""
    outer = node.parent()
    if outer is None or outer.kind() not in {"variable_declarator", "assignment_expression", "export_statement"}:
        return UNREADABLE
    name = outer.field("name") or outer.field("left")
    text = "exports" if name is None else name.text()
    return "exports" if text.endswith("exports") else text


def _span(node: SgNode | None) -> tuple[int, int] | None:
    if node is None:
        return None
    place = node.range()
    return place.start.line + 1, place.end.line + 1


def _holds(outer: SgNode, fields: Sequence[str], inner: SgNode) -> bool:
    """Whether a node has another one in one of some fields; if none are named, among its own children."""
    return not fields or any(inner in outer.field_children(name) for name in fields)
