"""Decides whether a change of a text for people does more than tell them something: all that is new must be prose."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from html import unescape
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token

from domain.paths import tells_terms
from domain.review.reading import Impact
from domain.text.places import has_common_word

_NESTING = 100  # levels that are read; deeper ones act for certain
_MARKDOWN = MarkdownIt("commonmark", {"maxNesting": _NESTING}).enable(["table", "strikethrough"])
_HARMLESS_NAMES = """
    abbr b blockquote br center code dd del details div dl dt em h1 h2 h3 h4 h5 h6 hr i ins kbd li mark ol
    p pre q s samp small span strong sub summary sup table tbody td th thead tr u ul var
"""
_HARMLESS = re.compile(rf"</?(?:{'|'.join(_HARMLESS_NAMES.split())})(?:\s+align=\"?\w+\"?)?\s*/?>", re.IGNORECASE)
"""The tags that a page may get, as they are written: none of them has an attribute that leads elsewhere."""
_PROSE = re.compile(
    r"""(?!.*(?:\w\((?!e?s\))|(?:^|\s)--?\w|\w\.[a-z]{2,}/|\bwww\.|\]\())"""
    r"""(?:[^\W_]|(?<=\w)_(?=\w)|[ \t\n.,;?'"()/&%+*#§°…€£–—“”‘’«»„·•×←-⯿、。，：；（）🌀-🫿-]|\[(?!\[)|\](?!\])"""
    r"""|!(?!!)|:(?=[\s)*"'”]|$)|(?<=\d):(?=\d))*"""
)
"""Words with their punctuation: no sign of calls, commands, templates, directives, options, addresses or links that
another parser may see (GitHub makes a link of ``www.``)."""
_NAME = re.compile(r"-{0,2}[.@&]?\w[\w-]*(?:[./:]{1,2}[\w-]+)*(?:\(\)|=|/)?")
"""What a text may name in a code span: one word, such as ``--flag``, ``a.b()`` or ``a/b.md``; never a command."""
_SPAN = re.compile(r"(`+)([^`\n]+)\1(?!`)")
_CODE = re.compile(r"\s*(?:>>>|(?:from\s+\S+\s+)?import\s|export\s)")
"""How a line begins that runs where a page is read by doctest or as MDX."""
_LOWER = re.compile(r"[a-z][\w.-]*\s")
_HEADER = re.compile(
    r"\A(?:---|\+\+\+|;;;)[ \t]*\n.*?(?:\n(?:---|\+\+\+|;;;)[ \t]*$|\Z)|\A\{\n.*?^\}", re.DOTALL | re.MULTILINE
)
_YEARS = re.compile(r"\b(19|20)\d\d\b|[,–-]")
_MESSAGE = re.compile(r'(?:msg(?:id|str|ctxt|id_plural)(?:\[\d\])? )?"(.*?)(?:\\n)?"|#.*')
_DELIMITER = re.compile(r"(-{4,}|\.{4,}|\+{4,}|/{4,}|={4,}|_{4,}|\*{4,}|`{3,}|~{3,})\s*")


def find_impact(path: str, base: str | None, head: str) -> Impact:
    """The impact of a change of a document: ``behaviour`` if what is no prose in it is not what it was before.

    It may move as a whole, as it does when prose is added above.

    :param base: its text before; None for a new file.
    """
    before, after = Counter(_list_acts(path, base or "")), Counter(_list_acts(path, head))
    changes_terms = tells_terms(path) and _read_terms(base or "") != _read_terms(head)
    return Impact.behaviour if after != before or changes_terms else Impact.document


def _read_terms(text: str) -> list[str]:
    """The words that bind people, or tell them where to turn; years do not."""
    return _YEARS.sub(" ", text).split()


def _list_acts(path: str, text: str) -> Iterator[str]:
    """Everything in a document that is no prose, as it is written: code and markup as wholes, else lines."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    suffix = path.lower().rpartition(".")[2]
    if header := _HEADER.match(text):
        yield header[0]
        text = text[header.end() :]
    yield from filter(_CODE.match, text.split("\n"))
    if suffix in {"md", "markdown"}:
        yield from _list_in_markdown(text)
    elif suffix in {"po", "pot"}:
        yield from _list_in_messages(text.split("\n"))
    else:
        yield from _list_in_text(text.split("\n"), is_delimited=suffix in {"adoc", "asciidoc"})


def _list_in_markdown(text: str) -> Iterator[str]:
    known: dict[str, Any] = {}
    tokens = _MARKDOWN.parse(text, known)
    for each in known.get("references", {}).values():
        yield from [] if _is_near(each["href"]) else [each["href"]]
    for token in tokens:
        if token.level >= _NESTING - 10:
            yield f"nested {token.content}"
        if token.type in {"fence", "code_block"}:
            yield f"{token.info}\n{token.content}"
        elif token.type == "html_block":
            yield from _list_markup(token.content)
        elif token.type == "inline":
            yield from _list_inline(token.children or ())


def _list_inline(parts: Sequence[Token]) -> Iterator[str]:
    """What is no prose in a paragraph, a heading or a cell."""
    shown = ""
    for part in parts:
        if part.type == "code_inline":
            if _NAME.fullmatch(part.content) is None:
                yield f"`{part.content}`"
            shown += "x"
        elif part.type == "html_inline":
            yield from _list_markup(part.content)
        elif part.type in {"link_open", "image"}:
            yield from (str(value) for value in part.attrs.values() if not _is_near(str(value)))
            shown += part.content
        else:
            shown += part.content or ("\n" if part.type in {"softbreak", "hardbreak"} else "")
    yield from _list_lines(shown)


def _list_markup(markup: str) -> Iterator[str]:
    """Markup beyond harmless tags, and what is no prose between them."""
    plain = _HARMLESS.sub(" ", markup)
    if "<" in plain or ">" in plain:
        yield " ".join(markup.split())
    else:
        yield from _list_lines(unescape(plain))


def _is_near(target: str) -> bool:
    """Whether a link leads to a place of the same document, or to another file beside it."""
    return re.fullmatch(r"(?!/)[\w./ %-]*(#[\w.%-]*)?", target) is not None


def _list_lines(text: str) -> Iterator[str]:
    """The lines of a paragraph that are no prose; all of it, if it reads as a command."""
    for line in text.split("\n"):
        if _PROSE.fullmatch(line.strip()) is None:
            yield " ".join(line.split())
    if _reads_as_command(text):
        yield " ".join(text.split())


def _reads_as_command(text: str) -> bool:
    """Whether a text of several words begins with a small letter, and no word of it holds a sentence together."""
    return _LOWER.match(text.strip()) is not None and not has_common_word(text)


def _list_in_messages(lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        message = _MESSAGE.fullmatch(line.strip())
        text = "" if message is None else message[1] or ""
        if line.strip() and (message is None or "%" in text or _PROSE.fullmatch(text) is None):
            yield line.strip()


def _list_in_text(lines: Sequence[str], *, is_delimited: bool) -> Iterator[str]:
    """Blocks of code, indented or between delimiters, as wholes; of the other lines those that are no prose."""
    block: list[str] = []
    delimiter: str | None = None
    paragraph: list[str] = []
    for line in [*lines, ""]:
        found = _DELIMITER.fullmatch(line) if is_delimited else None
        is_inside = delimiter is not None or found is not None or line[:1] in {" ", "\t"}
        if found and delimiter in {None, found[1]}:
            delimiter = None if delimiter else found[1]
        if is_inside or (not line.strip() and delimiter):
            block.append(line.rstrip())
            continue
        if block and line.strip():
            yield "\n".join(block)
            block = []
        if line.strip():
            paragraph.append(line.strip())
        elif paragraph:
            yield from _list_plain("\n".join(paragraph))
            paragraph = []
    if block:
        yield "\n".join(block)
    yield from _list_plain("\n".join(paragraph))


def _list_plain(paragraph: str) -> Iterator[str]:
    """What is no prose in a paragraph without Markdown."""
    for span in _SPAN.finditer(paragraph):
        if _NAME.fullmatch(span[2]) is None:
            yield span[0]
    plain = _SPAN.sub("x", paragraph)
    yield from _list_lines(
        "\n".join(line for line in plain.split("\n") if re.fullmatch(r"([=~^\"'*+#-])\1*", line) is None)
    )
