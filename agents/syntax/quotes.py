"""Tells what a comment quotes, whom it mentions and whether it asks something, as GitHub shows it."""

import html
import re
from collections.abc import Sequence

from markdown_it import MarkdownIt

_MARKDOWN = MarkdownIt("commonmark")
_QUOTED = re.compile(r"[ ]{0,3}>[ ]?(?![ ]*>)(.*)")  # not a quote within a quote, which somebody else quoted
_CODE = re.compile(r"(?ms)^[ ]{0,3}(`{3,}|~{3,}).*?(?:^[ ]{0,3}\1|\Z)|`[^`\n]*`")
_MENTION = re.compile(r"(?<![\w@/.-])@([A-Za-z0-9](?:[A-Za-z0-9-]{0,98}[A-Za-z0-9])?)(?:\[bot\])?(?![\w/-])")
_HIDDEN = re.compile(r"<!--.*?-->|<[^<>]*>", re.DOTALL)
REVIEWER = "@reviewer"
_LEAST = 12  # letters and digits of a quote; a shorter one could come from anywhere


def split_quotes(body: str) -> tuple[tuple[str, ...], str]:
    """The passages that a comment quotes, and what its author says.

    A line right below a quote goes on with it, even without ``>``.
    """
    lines = body.splitlines()
    blocks = _MARKDOWN.parse("\n".join(lines)) if ">" in body else []
    spans = [block.map for block in blocks if block.type == "blockquote_open" and block.level == 0 and block.map]
    quoted = {number for start, end in spans for number in range(start, end)}
    passages: list[list[str]] = [[]]
    for number, line in enumerate(lines):
        found = _QUOTED.fullmatch(line) if number in quoted else None
        if found:
            passages[-1].append(found[1])
        else:
            passages.append([])
    own = "\n".join(line for number, line in enumerate(lines) if number not in quoted)
    return tuple("\n".join(passage) for passage in passages if passage), own.strip()


def find_mentions(text: str) -> tuple[str, ...]:
    """The accounts that a text mentions outside of code, in small letters; an App without its ``[bot]``."""
    return tuple(dict.fromkeys(name.lower() for name in _MENTION.findall(_CODE.sub(" ", text))))


def call_reviewer(text: str, name: str) -> str:
    """The text with mentions of one account as ``@reviewer``, so that a model knows whom they mean.

    :param name: in small letters, without ``[bot]``.
    """
    return _MENTION.sub(lambda found: REVIEWER if found[1].lower() == name else found[0], text)


def find_source(passages: Sequence[str], texts: Sequence[str]) -> tuple[str, str] | None:
    """The first passage that comes from one of these texts, and the last text that holds it; None if none does.

    Quoting changes Markdown, so letters and digits alone are compared.
    """
    known = [(text, _strip(text)) for text in texts]
    for passage in passages:
        wanted = _strip(passage)
        holding = [text for text, plain in known if wanted in plain] if len(wanted) >= _LEAST else []
        if holding:
            return passage, holding[-1]
    return None


def asks_something(text: str) -> bool:
    """Whether words look like a question, without a model that reads them."""
    return "?" in _CODE.sub(" ", text)


def _strip(text: str) -> str:
    return "".join(c for c in html.unescape(_HIDDEN.sub("", text)).lower() if c.isalnum())
