"""Lists the words and signs of a part of a program, as formatters of any style would agree on them."""

import re
import zlib

from agents.review.avoidance.calls import NAME
from agents.syntax.trees import SyntaxNode

LITERAL = re.compile(
    r"string|number|integer|float|decimal|literal|^true$|^false$|^nil$|^none$|^null$|char|symbol", re.IGNORECASE
)
_PREFIX = re.compile(r"^[bBrRuU]{1,2}(?=[\"'])")


def list_leaves(node: SyntaxNode) -> list[str]:
    """The texts of a node's leaves, in order."""
    return [normalize(each.text) for each in node.walk() if not each.children and each.text]


def normalize(text: str) -> str:
    """A literal in double quotes, whichever it has, as formatters change them, without a prefix such as ``b``."""
    text = _PREFIX.sub("", text)
    is_quoted = len(text) > 1 and text[0] in "'`" and text[-1] == text[0] and '"' not in text
    return f'"{text[1:-1]}"' if is_quoted else text


def join_text(node: SyntaxNode) -> str:
    """A node's text without layout and comments."""
    return " ".join(list_leaves(node))


def make_signature(*nodes: SyntaxNode) -> int:
    """Equal for parts that say the same, in every process."""
    return zlib.crc32(" ".join(join_text(node) for node in nodes).encode(errors="replace"))


def list_words(node: SyntaxNode) -> list[str]:
    """The names and literals in a node."""
    return [
        normalize(each.text)
        for each in node.walk()
        if not each.children and each.text and (NAME.search(each.kind) or LITERAL.search(each.kind))
    ]


def list_literals(node: SyntaxNode) -> list[str]:
    """The literals in a node."""
    return [normalize(each.text) for each in node.walk() if not each.children and each.text and is_literal(each)]


def is_literal(node: SyntaxNode) -> bool:
    return LITERAL.search(node.kind) is not None and node.kind not in {"string_start", "string_end"}
