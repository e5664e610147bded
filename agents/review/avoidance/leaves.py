"""Lists the words and signs of a part of a program, as formatters of any style would agree on them."""

import re

from agents.syntax.trees import SyntaxNode

_PREFIX = re.compile(r"^[bBrRuU]{1,2}(?=[\"'])")


def list_leaves(node: SyntaxNode) -> list[str]:
    """The texts of a node's leaves, in order."""
    return [normalize(each.text) for each in node.walk() if not each.children and each.text]


def normalize(text: str) -> str:
    """A literal in double quotes, whichever it has, as formatters change them, without a prefix such as ``b``."""
    text = _PREFIX.sub("", text)
    is_quoted = len(text) > 1 and text[0] in "'`" and text[-1] == text[0] and '"' not in text
    return f'"{text[1:-1]}"' if is_quoted else text
