"""Tells what a comment quotes from what its author says, as GitHub shows it."""

import re

from markdown_it import MarkdownIt

_MARKDOWN = MarkdownIt("commonmark")
_QUOTED = re.compile(r"[ ]{0,3}>[ ]?(?![ ]*>)(.*)")  # not a quote within a quote, which somebody else quoted


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
