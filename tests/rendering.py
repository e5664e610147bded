"""Tells what GitHub would make of a Markdown text: everything that is more than text, emphasis and inline code."""

import re
from collections.abc import Iterator, Sequence

from markdown_it import MarkdownIt
from markdown_it.token import Token

_MARKDOWN = MarkdownIt("commonmark").enable(["table", "strikethrough"])
_INERT_BLOCKS = {"paragraph_open", "paragraph_close", "inline"}
_INERT_INLINE = {"text", "text_special", "code_inline"}
# What GitHub finds in the text of a rendered page, outside of code and links.
_FOUND_IN_TEXT = {
    "mention": re.compile(r"(?<![\w`])@[a-z0-9][a-z0-9-]*", re.IGNORECASE),
    "reference": re.compile(r"#\d|\bGH-\d", re.IGNORECASE),
    "address": re.compile(r"(?:https?|ftp)://|\bwww\.|(?:mailto|xmpp):\S|[\w.+-]+@[\w-]+\.\w", re.IGNORECASE),
    "command": re.compile(r"(?:^|\s)/forge\b", re.IGNORECASE),
}


def find_active(markdown: str, allowed: Sequence[str] = ()) -> list[str]:
    """What is active in a text: kinds of tokens, and mentions, references, addresses and commands in its plain text.

    :param allowed: kinds of tokens that may be there, e.g. ``bullet_list_open``.
    """
    return [kind for kind in _active(_MARKDOWN.parse(markdown)) if kind not in allowed]


def to_visible_text(markdown: str) -> str:
    """What a person reads of a text: its plain text and code."""
    inlines = (token for token in _MARKDOWN.parse(markdown) if token.type == "inline")
    return "\n".join("".join(child.content for child in token.children or ()) for token in inlines)


def _active(tokens: Sequence[Token]) -> Iterator[str]:
    for token in tokens:
        if token.type not in _INERT_BLOCKS:
            yield token.type
        yield from (child.type for child in token.children or () if child.type not in _INERT_INLINE)
        yield from (kind for kind, found in _FOUND_IN_TEXT.items() if any(map(found.search, _nodes(token))))


def _nodes(token: Token) -> list[str]:
    """The plain text of a paragraph, in pieces that code and line breaks part; all but the first begin with a mark."""
    nodes = [""]
    for child in token.children or ():
        if child.type in {"text", "text_special"}:
            nodes[-1] += child.content
        else:
            nodes.append("\n" if child.type in {"softbreak", "hardbreak"} else "\ufffc")
    return nodes
