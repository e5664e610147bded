"""Parses source of any language into a tree without comments and layout, so that two programs can be compared."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from ast_grep_py import Range, SgNode, SgRoot

LARGEST = 500_000
"""Bytes of a file that is parsed; a larger one is rarely written by people."""
LONGEST_LINE = 2_000  # characters; the time that a place costs grows with its line
_DEEPEST = 150  # levels of a tree; a deeper one is made to exhaust the stack
_WHOLE = re.compile(r"string|template|heredoc|regex|scalar|char_literal|rune_literal|preproc_arg|jsx_text|raw_text")
"""Nodes whose spaces count, so that their text is compared and not their parts."""
_FUNCTION_KINDS = (
    "function_definition function_declaration method_declaration method_definition method singleton_method "
    "function_item constructor_declaration"
)
FUNCTIONS = frozenset(_FUNCTION_KINDS.split())
"""Nodes that define a function with a name."""
_NAMES = frozenset(
    {"identifier", "name", "field_identifier", "property_identifier", "type_identifier", "constant", "word"}
    | {"qualified_identifier"}
)
_LAYOUT = frozenset({"line_continuation"})


class _TooDeep(Exception):
    """A tree nests deeper than any program that a person writes."""


@dataclass(frozen=True, eq=False)
class SyntaxNode:
    """A node of a program without comments and layout.

    :param kind: its name in the grammar.
    :param text: of a leaf, else what stands between the children and is no space.
    :param start: its first line, from 1.
    :param end: its last line.
    """

    kind: str
    text: str
    start: int
    end: int
    children: tuple["SyntaxNode", ...] = ()

    @cached_property
    def signature(self) -> int:
        """Equal for nodes that mean the same, wherever they stand and however they are laid out."""
        return hash((self.kind, self.text, tuple(child.signature for child in self.children)))

    def walk(self) -> "Iterator[SyntaxNode]":
        """This node and all below it, in the order of the text."""
        waiting: list[SyntaxNode] = [
            self
        ]  # no recursion: each node would pass through a generator for each level above it
        while waiting:
            node = waiting.pop()
            yield node
            waiting.extend(reversed(node.children))

    def find(self, *kinds: str) -> "SyntaxNode | None":
        """The first child of one of some kinds."""
        return next((child for child in self.children if child.kind in kinds), None)


@dataclass(frozen=True)
class ParsedSource:
    """A parsed file.

    :param tree: without comments.
    :param comments: every comment, in order.
    :param places: how many names and keywords stand before each comment.
    :param errors: lines that the grammar could not read, or in which it missed something; from 1.
    """

    tree: SyntaxNode
    comments: tuple[str, ...]
    places: tuple[int, ...]
    errors: tuple[int, ...]


def parse(text: str, language: str) -> ParsedSource | None:
    """Parse a file; None if it is too large, has too long lines or nests too deep to be written by people.

    :param language: a value of :data:`agents.syntax.languages.LANGUAGES`.
    """
    if len(text) > LARGEST or max(map(len, text.split("\n"))) > LONGEST_LINE:
        return None
    reader = _Reader()
    root = SgRoot(text, language).root()
    try:
        tree = reader.build(root, root.range(), 0)
    except _TooDeep:
        return None
    return ParsedSource(tree, tuple(reader.comments), tuple(reader.places), tuple(dict.fromkeys(reader.errors)))


class _Reader:
    """Builds a tree, and collects comments and errors on the way."""

    def __init__(self) -> None:
        self.comments: list[str] = []
        self.places: list[int] = []
        self.words = 0
        self.errors: list[int] = []

    def build(self, node: SgNode, place: Range, depth: int) -> SyntaxNode:
        """The tree of a node.

        :param place: where the node is; asked once, because that is the dearest question.
        :raises _TooDeep: it nests deeper than people write.
        """
        if depth > _DEEPEST:
            raise _TooDeep
        kind, children = node.kind(), node.children()
        start, end = place.start.line + 1, place.end.line + 1
        if kind == "ERROR" or (not children and _is_missing(node)):
            self.errors.append(start)
        if not children or _WHOLE.search(kind):
            self._find_errors(children)
            self.words += node.text().isidentifier()
            return SyntaxNode(kind, node.text(), start, end)
        places = [child.range() for child in children]
        kept = [self._keep(*pair, depth) for pair in zip(children, places, strict=True)]
        between = _read_between(node.text(), place.start.index, places)
        return SyntaxNode(kind, between, start, end, tuple(tree for tree in kept if tree is not None))

    def _keep(self, child: SgNode, place: Range, depth: int) -> SyntaxNode | None:
        kind = child.kind()
        if "comment" in kind:
            self.comments.append(child.text())
            self.places.append(self.words)
            return None
        return None if kind in _LAYOUT else self.build(child, place, depth + 1)

    def _find_errors(self, children: Sequence[SgNode]) -> None:
        """The errors inside of what is compared as text, such as an expression within a string."""
        found = (error for child in children for error in child.find_all(kind="ERROR"))
        self.errors += [error.range().start.line + 1 for error in found]


def _is_missing(leaf: SgNode) -> bool:
    """Whether the grammar had to invent this token: it is a sign or a word, and empty."""
    is_token = not leaf.is_named() and leaf.kind().strip() != ""
    return (is_token or leaf.kind().endswith("identifier")) and not leaf.text()


def _read_between(text: str, begin: int, places: Sequence[Range]) -> str:
    """The text of a node that belongs to none of its children; of mere layout nothing."""
    parts: list[str] = []
    at = 0
    for place in places:
        parts.append(text[at : place.start.index - begin])
        at = place.end.index - begin
    parts.append(text[at:])
    return " ".join("".join(parts).split())


def find_name(node: SyntaxNode) -> str:
    """The name that a definition gives: what stands right before its parameters, else its first name; or nothing."""
    named = [
        child
        for child, following in zip(node.children, (*node.children[1:], None), strict=True)
        if child.kind in _NAMES and following is not None and _opens_parameters(following)
    ] or [child for child in node.children if child.kind in _NAMES]
    if named:
        return next((each.text for each in reversed([*named[0].walk()]) if each.text), "")
    inner = next((child for child in node.children if child.kind.endswith("declarator")), None)
    return "" if inner is None else find_name(inner)


def _opens_parameters(node: SyntaxNode) -> bool:
    return "parameter" in node.kind or node.kind == "argument_list"
