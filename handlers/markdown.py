"""Finds the lines of a comment that may command: of plain paragraphs at the top level, as GitHub would show them.

What GitHub shows as a quote, list, table, heading, code, link, emphasis or HTML is somebody else's text or an example.
"""

import re
from collections.abc import Iterator, Sequence

from markdown_it import MarkdownIt
from markdown_it.token import Token

PREFIX = "/forge"
MOST_READ = 16_000  # characters of a comment; what comes after them in it never commands

_MARKDOWN = MarkdownIt("commonmark").enable("strikethrough")
_STARTS = re.compile(rf"{PREFIX}(?=[ \t]|$)", re.IGNORECASE)
_STARTS_RAW = re.compile(rf"[ ]{{0,3}}{PREFIX}", re.IGNORECASE)
_DELIMITERS = re.compile(r"\|?[ \t]*:?-+:?[ \t]*(\|[ \t]*:?-+:?[ \t]*)*\|?")
_TAG = re.compile(r"""<(/?)([a-z][a-z0-9-]*)(?=[\s/>])(?:[^<>"']|"[^"]*"|'[^']*')*>""", re.IGNORECASE)
_ENCLOSING = frozenset(
    re.findall(
        r"\w+",
        """a abbr b bdo blockquote caption cite code dd del details dfn div dl dt em figcaption figure h1 h2 h3 h4 h5 h6
        i ins kbd li mark ol p picture pre q rp rt ruby s samp small span strike strong sub summary sup table tbody td
        tfoot th thead time tr tt ul var""",
    )
)
"""The elements GitHub lets through that enclose something; others it removes, and they enclose nothing."""


def commanding_lines(body: str) -> Iterator[str]:
    """The lines that begin with ``/forge`` and may command, as they were written."""
    if PREFIX not in body.lower():
        return
    raw = re.split(r"\r\n?|\n", body.replace("\0", "\ufffd"))
    env: dict[str, object] = {}  # where the parser keeps what links refer to
    blocks: list[Token] = []
    _MARKDOWN.block.parse("\n".join(raw), _MARKDOWN, env, blocks)
    open_tags = _OpenTags()
    left = MOST_READ
    for index, block in enumerate(blocks):
        if block.type == "html_block":
            open_tags.read(block.content)
        if block.type != "inline":
            continue
        tokens, parent = _inline(block.content, env, left), blocks[index - 1]
        left -= 0 if not tokens else len(block.content)
        is_plain = parent.type == "paragraph_open" and parent.level == 0 and PREFIX in block.content.lower()
        if is_plain and parent.map is not None and tokens is not None:
            yield from _of_paragraph(tokens, raw[parent.map[0]], open_tags)
        else:
            open_tags.follow(block.content, tokens)


def _inline(text: str, env: dict[str, object], longest: int) -> list[Token] | None:
    """The parts of a paragraph or another text, none if they do not matter; None if it is too long to be read."""
    if PREFIX not in text.lower() and "<" not in text:
        return []
    if len(text) > longest:
        return None
    tokens: list[Token] = []
    _MARKDOWN.inline.parse(text, _MARKDOWN, env, tokens)
    return tokens


def _of_paragraph(tokens: Sequence[Token], first_raw: str, open_tags: "_OpenTags") -> Iterator[str]:
    """:param first_raw: the paragraph's first line untouched: the parser takes more off its start than blanks."""
    lines = _lines(tokens)
    written = ["".join(map(_source, line)) for line in lines]
    in_table = _in_table(written)
    for index, (line, text) in enumerate(zip(lines, written, strict=True)):
        is_plain = not open_tags.any and not in_table[index] and line != []
        open_tags.follow("", line)
        if is_plain and line[0].level == 0 and _STARTS.match(text) and (index or _STARTS_RAW.match(first_raw)):
            yield text.rstrip(" \t")


def _lines(tokens: Sequence[Token]) -> list[list[Token]]:
    lines: list[list[Token]] = [[]]
    for token in tokens:
        if token.type in {"softbreak", "hardbreak"}:
            lines.append([])
        else:
            lines[-1].append(token)
    return lines


def _source(token: Token) -> str:
    """A part as it was written, as far as it matters: what only looks like a command when shown must not be one."""
    match token.type:
        case "text" | "html_inline":
            return token.content
        case "code_inline":
            return f"{token.markup}{token.content}{token.markup}"
        case "link_open":
            return "<" if token.markup == "autolink" else "["
        case "link_close":
            return ">" if token.markup == "autolink" else "]()"
        case "image":
            return f"![{token.content}]()"
        case _:  # emphasis, escapes and entities
            return token.markup


def _in_table(lines: Sequence[str]) -> list[bool]:
    """Which lines of a paragraph GitHub shows as a table: from the one before a row of dashes to the end.

    (CommonMark has no tables; this errs towards seeing one.)
    """
    for index, line in enumerate(lines[1:]):
        if ("|" in line or ":" in line) and _DELIMITERS.fullmatch(line.strip(" \t")):
            return [position >= index for position in range(len(lines))]
    return [False] * len(lines)


class _OpenTags:
    """Which HTML elements are open; what stands inside one is not plain text."""

    def __init__(self) -> None:
        self._depth: dict[str, int] = {}

    @property
    def any(self) -> bool:
        return any(self._depth.values())

    def follow(self, text: str, tokens: Sequence[Token] | None) -> None:
        """Read the HTML among the parts of a text, or all that looks like HTML if it could not be parted."""
        for html in [text] if tokens is None else [each.content for each in tokens if each.type == "html_inline"]:
            self.read(html)

    def read(self, html: str) -> None:
        for closing, name in _TAG.findall(html):
            tag = str(name).lower()
            if tag in _ENCLOSING:
                self._depth[tag] = max(0, self._depth.get(tag, 0) + (-1 if closing else 1))
