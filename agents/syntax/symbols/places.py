"""Finds where a name stands in a file: where it is defined and where it is used, by one table for all languages."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, cast

from ast_grep_py import SgNode, SgRoot

from agents.syntax.symbols.imports import EVERYTHING, Import, read_imports
from agents.syntax.trees import LARGEST, LONGEST_LINE


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


FOLLOWED = _words("python javascript typescript tsx go java csharp php ruby rust c cpp")
"""Languages whose names are followed."""


_CLASSES = _words(
    "class_definition class_declaration class abstract_class_declaration interface_declaration enum_declaration "
    "type_alias_declaration type_spec type_alias record_declaration struct_declaration trait_declaration module "
    "struct_item enum_item trait_item union_item type_item mod_item impl_item struct_specifier union_specifier "
    "enum_specifier class_specifier type_definition annotation_type_declaration"
)
_FUNCTIONS = _words(
    "function_definition function_declaration generator_function_declaration method_definition method_declaration "
    "constructor_declaration compact_constructor_declaration local_function_statement method singleton_method "
    "function_item"
)
_LAMBDAS = _words(
    "lambda function_expression arrow_function func_literal lambda_expression anonymous_function closure_expression "
    "accessor_declaration"
)
_OTHERS = _words(
    "method_signature abstract_method_signature method_elem enum_constant property_declaration delegate_declaration "
    "enum_member_declaration function_signature_item macro_definition enum_variant preproc_function_def preproc_def "
    "enumerator assignment variable_declarator const_spec var_spec field_declaration field_definition "
    "public_field_definition property_signature const_item static_item const_element property_element pair "
    "declaration"
)
_DEFINES = _CLASSES | _FUNCTIONS | _OTHERS
_NAMES = _words(
    "identifier name constant type_identifier field_identifier property_identifier private_property_identifier "
    "shorthand_property_identifier namespace_identifier"
)
_IMPORTS = _words(
    "import_statement import_from_statement import_spec import_declaration using_directive namespace_use_declaration "
    "use_declaration preproc_include export_statement variable_declarator"
)
_FIELDS = ("name", "declarator", "left", "property", "key", "type")
_WRAPS = re.compile(r"declarator$|^(qualified_identifier|variable_name|pattern_list|tuple_pattern)$")
_LABELS = _words("keyword_argument keyed_element literal_element element_value_pair pair")
_PASSES_ON = _words("export_specifier namespace_export variable_name")
_IS_GIVEN = r"\bNAME\s*(?::[^=\n]*)?(?::?=[^=>]|in\b)"
_GIVES = re.compile(r"(?:^|[;{]|\b(?:const|let|var|auto|for|mut|foreach|[A-Z]\w*)\b)[\s$(]*$", re.MULTILINE)
"""Where a function gives a name a meaning."""
_OBJECT_HOLDERS = _words("variable_declarator assignment_expression export_statement")
_DEEPEST = 150  # levels above a name; code that people write has fewer
_MOST_PLACES = 120  # of one name in one file
_LONGEST = 400  # characters of a definition that are read
_LONGEST_IMPORT = 8_000
_BEFORE, _AFTER, _NEAR = 300, 120, 40  # characters beside a name that are read
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
_BASE = re.compile(r"(?:\w+(?:::|[.\\]))*([A-Za-z_]\w*)")
_NO_BASE = re.compile(r"(?:#|//).*|<[^<>]*(?:<[^<>]*>[^<>]*)*>|\bwhere\b.*", re.MULTILINE)
_ALIASES = _words("type_alias_declaration type_alias type_item mod_item type_definition")
_EMBEDDED = {
    "go": re.compile(r"^\s*\*?(?:\w+\.)?([A-Za-z_]\w*)\s*(?:`[^`]*`)?$", re.MULTILINE),
    "ruby": re.compile(r"^\s*(?:include|prepend|extend)[ (]+(?:\w+::)*(\w+)", re.MULTILINE),
    "php": re.compile(r"^\s*use\s+(?:[\w\\]*\\)?(\w+)\s*[;,]", re.MULTILINE),
}
"""What a class takes in within its body."""


@dataclass(frozen=True, eq=False)
class NamePlace:
    """A name where it stands.

    :param line: its own line, from 1.
    :param start: the first line of what it defines; else its own.
    :param end: the last one.
    :param receiver: the text before its dot; empty if there is none, ``?`` if that is no chain of names.
    :param is_called: it is called or constructed; of a definition, it can be.
    :param owner: the class around it, or that a method belongs to.
    :param scope: the lines of the outermost function around it.
    :param within: the lines of the innermost function with a name around it.
    :param is_bound: the function around gives the name, or that of its receiver, a meaning of its own.
    :param declaration: what defines it, as text; of a use, what follows on its line.
    """

    name: str
    path: str
    line: int
    start: int
    end: int
    is_definition: bool = False
    receiver: str = ""
    is_called: bool = False
    is_class: bool = False
    owner: str = ""
    scope: tuple[int, int] | None = None
    within: tuple[int, int] | None = None
    is_bound: bool = False
    declaration: str = ""

    @property
    def key(self) -> tuple[str, str, str]:
        """What tells a definition from others."""
        return self.path, "" if self.is_class else self.owner, self.name

    @property
    def is_member(self) -> bool:
        """Whether it is defined in a class."""
        return self.owner != "" and not self.is_class


@dataclass(frozen=True)
class ClassHead:
    """What a class says it builds on.

    :param bases: the last words of their names.
    """

    name: str
    line: int
    bases: frozenset[str]


class SourceFile:
    """A file with its tree.

    :raises ValueError: people did not write it: it is too large, or has too long lines.
    """

    def __init__(self, path: str, language: str, text: str) -> None:
        if len(text) > LARGEST or max(map(len, text.split("\n"))) > LONGEST_LINE:
            raise ValueError(path)
        language = "cpp" if path.endswith(".h") and "class " not in text else language
        self.path, self.language, self.text = path, language, text.removeprefix("\ufeff")
        self.lines = self.text.split("\n")
        self._root = SgRoot(self.text, language).root()
        self._places: dict[str, tuple[NamePlace, ...]] = {}
        self._bound: dict[tuple[int, str], bool] = {}
        self._types: dict[tuple[str, tuple[int, int] | None], set[str]] = {}

    @cached_property
    def imports(self) -> tuple[Import, ...]:
        return tuple(read_imports(self.language, [node.text()[:_LONGEST_IMPORT] for node in self._import_nodes]))

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

    @cached_property
    def definitions(self) -> tuple[NamePlace, ...]:
        """All that it defines for others to see."""
        leaves = (leaf for node in self._find(_DEFINES) if (leaf := self._find_name(node)) is not None)
        return tuple(place for leaf in leaves if (place := self._read(leaf)) is not None and place.is_definition)

    @cached_property
    def classes(self) -> tuple[ClassHead, ...]:
        """Its classes, with what they build on; some grammars call the root of a file a module, which has no name."""
        heads = (self._read_head(node) for node in self._find(_CLASSES - _ALIASES))
        return tuple(head for head in heads if head.name)

    @property
    def takes_everything(self) -> bool:
        """Whether it imports all that another file has, without naming it."""
        return any(each.name == EVERYTHING for each in self.imports)

    @cached_property
    def import_lines(self) -> frozenset[int]:
        """The lines of statements that only import, from 1."""
        spans = [node.range() for node in self._import_nodes if node.kind() != "export_statement"]
        return frozenset(line + 1 for span in spans for line in range(span.start.line, span.end.line + 1))

    def find(self, name: str) -> tuple[NamePlace, ...]:
        """Where a name stands, in order; of very many places the first."""
        if name not in self._places:
            leaves = self._find(_NAMES, f"^{re.escape(name)}$")[:_MOST_PLACES] if name and name in self.text else []
            self._places[name] = tuple(place for leaf in leaves if (place := self._read(leaf)) is not None)
        return self._places[name]

    def find_definitions(self, name: str) -> list[NamePlace]:
        """What the file defines under a name, for others to see."""
        return [place for place in self.find(name) if place.is_definition]

    def find_top(self, name: str) -> NamePlace | None:
        """What a name means at the top of the file: a function, value or class of its own."""
        return next((each for each in self.find_definitions(name) if not each.is_member), None)

    def find_types(self, name: str, scope: tuple[int, int] | None = None) -> set[str]:
        """The words with a capital that stand beside a name where it may be declared.

        :param scope: the only lines to look at.
        """
        if (name, scope) not in self._types:
            self._types[name, scope] = self._list_types(name, scope) if name and name in self.text else set()
        return self._types[name, scope]

    def _list_types(self, name: str, scope: tuple[int, int] | None) -> set[str]:
        word = re.escape(name)
        before = re.compile(rf"([A-Z]\w*)(?:<[^=;]*>)?[\s&*?>|)]+\$?{word}\b")
        after = re.compile(rf"\b{word}[?!]?(?:\s*\|\|)?\s*(?::=|[:=](?![=>])|\s)([^;(]{{0,40}})")
        first, last = scope or (1, len(self.lines))
        lines = (line for at, line in enumerate(self.lines[first - 1 : last], first) if at not in self.import_lines)
        said = [line for line in lines if name in line]
        found = [each for line in said for part in after.findall(line) for each in re.findall(r"\b[A-Z]\w*", part)]
        return {re.sub("^New(?=[A-Z])", "", each) for line in said for each in (*before.findall(line), *found)}

    def list_calls(self, lines: Sequence[int]) -> Iterator[NamePlace]:
        """All that is called on some lines."""
        wanted = frozenset(lines)
        leaves = self._find(_NAMES) if wanted else []
        read = (self._read(leaf) for leaf in leaves if leaf.range().start.line + 1 in wanted)
        return (place for place in read if place is not None and place.is_called and not place.is_definition)

    @cached_property
    def _import_nodes(self) -> list[SgNode]:
        found = self._find(_IMPORTS)
        return [node for node in found if node.kind() != "variable_declarator" or _loads(node)]

    def _find(self, kinds: frozenset[str], pattern: str = "") -> list[SgNode]:
        rule: dict[str, Any] = {"any": [{"kind": kind} for kind in _list_known(self.language, kinds)]}
        return self._root.find_all(cast(Any, {"rule": rule | ({"regex": pattern} if pattern else {})}))

    def _find_name(self, node: SgNode) -> SgNode | None:
        """The leaf that names what a node defines."""
        fields = [child for field in _FIELDS if (child := node.field(field)) is not None]
        children = fields or [child for child in node.children() if child.kind() in _NAMES]
        inner = children[0] if children else None
        while inner is not None and inner.kind() not in _NAMES:
            inner = inner.field("declarator") or inner.field("name") or _find_first(inner)
        return inner

    def _read_head(self, node: SgNode) -> ClassHead:
        text, first, body, name = node.text(), node.range().start, node.field("body"), node.field("name")
        start = 0 if name is None else name.range().end.index - first.index  # a trait of Rust stands before its type
        end = len(text.split("{")[0]) if body is None else body.range().start.index - first.index
        said = _BASE.findall(_NO_BASE.sub("", text[start:end]))
        inside = _EMBEDDED[self.language].findall(text[end:]) if self.language in _EMBEDDED else []
        named = _name_class(node)
        return ClassHead(named, first.line + 1, frozenset({*said, *inside} - {named}))

    def _read(self, leaf: SgNode) -> NamePlace | None:
        """None if it names something local, only labels something or imports, or nests deeper than people write."""
        defined, own, name = self._find_defined(leaf), leaf.range(), leaf.text()
        if defined is None and (own.start.line + 1 in self.import_lines or _is_label(leaf)):
            return None
        node = defined or leaf
        around = _look_around(node)
        if around is None or (defined is not None and around.is_local):
            return None
        before = self.text[max(0, own.start.index - _BEFORE) : own.start.index]
        after = self.text[own.end.index : own.end.index + _AFTER]
        receiver, span = _read_receiver(before), node.range()
        root = find_root(receiver) or name
        return NamePlace(
            name=name,
            path=self.path,
            line=own.start.line + 1,
            start=span.start.line + 1,
            end=span.end.line + 1,
            is_definition=defined is not None,
            receiver=receiver,
            is_called=self._is_called(name, before, after),
            is_class=node.kind() in _CLASSES,
            owner=around.owner if defined is None else self._find_owner(defined, receiver, around.owner),
            scope=_span(around.functions[-1:]),
            within=_span([each for each in around.functions if each.kind() in _FUNCTIONS]),
            is_bound=defined is None and any(self._binds(each, root) for each in around.functions),
            declaration=(name + after).split("\n", 1)[0] if defined is None else defined.text()[:_LONGEST],
        )

    def _binds(self, function: SgNode, name: str) -> bool:
        key = (function.range().start.index, name)
        if key not in self._bound:
            self._bound[key] = _binds(function, name)
        return self._bound[key]

    def _find_defined(self, leaf: SgNode) -> SgNode | None:
        """The node that a leaf names."""
        inner, outer = leaf, leaf.parent()
        while outer is not None:
            kind = outer.kind()
            if kind in _DEFINES and kind != "impl_item" and self._names(outer, inner):
                return outer
            if not _WRAPS.search(kind) or (kind == "qualified_identifier" and outer.field("scope") == inner):
                return None
            inner, outer = outer, outer.parent()
        return None

    def _names(self, outer: SgNode, inner: SgNode) -> bool:
        kind = outer.kind()
        fields = [field for field in _FIELDS[:-1] if outer.field(field) is not None]
        is_named = (
            any(inner in outer.field_children(field) for field in fields[:1]) if fields else inner in outer.children()
        )
        if not is_named:
            return False
        if self.language in {"c", "cpp"}:
            is_mere = kind.endswith("_specifier") and outer.field("body") is None
            return not is_mere and (kind != "declaration" or "(" in outer.text())
        if kind == "pair":
            value = outer.field("value")
            return value is not None and value.kind() in _LAMBDAS
        return kind != "variable_declarator" or not _loads(outer)

    def _find_owner(self, node: SgNode, receiver: str, around: str) -> str:
        """The class that a definition belongs to, also where it stands apart from it, as in Go and C++."""
        if self.language == "go" and node.kind() == "method_declaration":
            found = re.match(r"func\s*\(\s*(?:\w+\s+)?\*?\s*(\w+)", node.text()[:_LONGEST])
            return "" if found is None else found[1]
        if self.language == "cpp" and receiver not in {"", "?"}:
            return receiver.split("<")[0].split("::")[-1]
        return "" if node.kind() == "enumerator" else around

    def _is_called(self, name: str, before: str, after: str) -> bool:
        if self.language in {"go", "rust"} and name[:1].isupper() and _STRUCT.match(after):
            return True
        if self.language in {"javascript", "tsx"} and _IS_MARKUP.search(before):
            return True
        is_called = _ARGUMENTS.match(after) is not None or _CONSTRUCTS.search(before) is not None
        return is_called or (self.language == "ruby" and name[:1].islower())


@cache
def _list_known(language: str, kinds: frozenset[str]) -> tuple[str, ...]:
    """The kinds that a grammar has."""
    root, known = SgRoot("", language).root(), list[str]()
    for kind in sorted(kinds):
        try:
            root.find(kind=kind)
        except RuntimeError:
            continue
        known.append(kind)
    return tuple(known)


def _find_first(node: SgNode) -> SgNode | None:
    return next((child for child in node.children() if child.is_named()), None)


def _loads(node: SgNode) -> bool:
    value = node.field("value")
    return value is not None and re.match(r"(await )?(require|import)\b", value.text()) is not None


def _is_label(leaf: SgNode) -> bool:
    """Whether a name is a key, a label or a variable of PHP, or only passed on."""
    parent = leaf.parent()
    kind = "" if parent is None else parent.kind()
    return kind in _PASSES_ON or (parent is not None and kind in _LABELS and parent.child(0) == leaf)


def _name_class(node: SgNode) -> str:
    name = node.field("type" if node.kind() == "impl_item" else "name")
    return "" if name is None else re.split(r"[<({]", name.text(), maxsplit=1)[0].split("::")[-1].strip()


@dataclass
class _Around:
    """What stands around a name.

    :param functions: the innermost first.
    :param is_local: what is defined there, nobody sees from outside.
    """

    functions: list[SgNode]
    owner: str = ""
    is_local: bool = False


def _look_around(node: SgNode) -> _Around | None:
    """What stands around a node; None if it nests too deep."""
    around, outer = _Around([]), node.parent()
    for _ in range(_DEEPEST):
        if outer is None:
            return around
        kind, holder = outer.kind(), outer.parent()
        if kind in _FUNCTIONS or kind in _LAMBDAS:
            around.functions.append(outer)
            around.is_local = around.is_local or not around.owner
        elif kind in _CLASSES:
            around.owner = around.owner or _name_class(outer)
        elif kind == "object" and not around.owner:
            around.is_local = around.is_local or holder is None or holder.kind() not in _OBJECT_HOLDERS
        outer = holder
    return None


def _binds(function: SgNode, name: str) -> bool:
    """Whether a function has a parameter or a variable of a name."""
    holder, text, word = function.field("declarator") or function, function.text(), re.escape(name)
    if name not in text:
        return False
    parameters = holder.field("parameters") or holder.field("parameter")
    if parameters is not None and re.search(rf"\b{word}\b(?!\s*(?:\.\w|::))", parameters.text()):
        return True
    given = re.finditer(_IS_GIVEN.replace("NAME", word), text)
    return any(_GIVES.search(text[max(0, each.start() - _NEAR) : each.start()]) for each in given)


def find_root(receiver: str) -> str:
    """The first name of a receiver."""
    return re.split(r"\W+", receiver.lstrip("$@\\"))[0]


def _read_receiver(before: str) -> str:
    """What stands before the dot before a name."""
    if not before.rstrip(" \t\r\n$#").endswith((".", "::", "->", "\\")) or _IS_LINKED.search(before) is None:
        return ""
    chain = _CHAIN.search(before)
    return "?" if chain is None else " ".join(chain[1].split())


def _span(nodes: Sequence[SgNode]) -> tuple[int, int] | None:
    """The lines of the first of some nodes."""
    if not nodes:
        return None
    place = nodes[0].range()
    return place.start.line + 1, place.end.line + 1
