"""Makes text from tools, models and pull requests inert before it is shown to people, and words what all texts say.

Active text (a mention, a reference, an address, a command) becomes inline code:
GitHub documents that nothing in code pings or links, and people can copy it exactly,
without invisible characters. All other Markdown and HTML is escaped. Every
function redacts first, because an escaped secret may no longer look like one.
"""

import hashlib
import hmac
import re
import unicodedata
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

from domain.paths import escape_unprintable
from domain.text.hidden_characters import BLANK, INVISIBLE
from domain.text.redaction import redact_outgoing

MOST_NAMED = 10


# --- characters --------------------------------------------------------------------------------------------

_PLAIN = re.compile(r"[\x20-\x7e\n\t]*")
# Sequences for terminals (ECMA-48): CSI; the strings OSC, DCS, SOS, PM and APC with their end; two characters.
_TERMINAL = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*+[ -/]*+[@-~]?"
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])(?:[^\x07\x1b\x9c\n]*+(?:\x07|\x1b\\|\x9c))?"
    r"|\x1b[ -/]*+[0-~]?"
)


def strip_invisible(text: str) -> str:
    """The text without terminal sequences, control, bidirectional and other invisible characters; line breaks stay."""
    if _PLAIN.fullmatch(text):
        return text
    plain = BLANK.sub("", _TERMINAL.sub("", text)).replace("\u2028", "\n").replace("\u2029", "\n")
    return "".join(c for c in plain if c in "\n\t" or unicodedata.category(c) not in INVISIBLE)


def flatten_text(text: str) -> str:
    """The text on one line, without invisible characters."""
    return " ".join(strip_invisible(text).split())


def flatten_redacted(text: str) -> str:
    """Text of others on one line, without secrets and invisible characters."""
    return flatten_text(redact_outgoing(text))


# --- what GitHub acts upon ---------------------------------------------------------------------------------

_ACTS = re.compile(
    r"""
      (?:\w[\w.+-]{0,20}:(?://|(?<=mailto:)|(?<=xmpp:))|www\.)[^\s<>"'`()\[\]{}|\\^]*  # an address
    | [\w./+-]{0,80}[@＠][\w./-]*\w                                                # a mention, a commit, an e-mail
    | [\w./-]{0,80}[#＃]\d+                                                         # an issue
    | \w{0,20}GH-\d+
    | [\w./-]{0,80}::[\w./:\[\]-]{0,200}\w                                            # a qualified name, whole
    | :(?:[a-z][\w+-]{0,40}|[+-]1|100):                                             # an emoji
    | (?<!\w)/\s*forge\b                                                            # a command
    """,
    re.IGNORECASE | re.VERBOSE,
)
_FORMULA = re.compile(r"\$[^\s`$|]*")
_TRAILING = ".,:;!?*_~'\""


def escape(text: str, limit: int = 600, *, is_cell: bool = True) -> str:
    """One paragraph of Markdown in which nothing pings, closes, links, renders HTML, commands or breaks out.

    Inline code in it stays. The result fits anywhere in a paragraph or a list item.

    :param limit: characters kept, escapes not counted.
    :param is_cell: whether it may stand in a cell of a table, where a pipe within code would end that.
    """
    flat = cut_words(_redact_line(text, limit), limit)
    parts = _merge_neighbours((code, part) for code, part in _split(flat, is_cell=is_cell) if part)
    shown = "".join(_code_span(part) if code else _escape_markdown(part) for code, part in parts)
    return _escape_line_start(shown)


def inline_code(text: str, limit: int = 200) -> str:
    """Safe inline code, also in a table cell."""
    flat = _truncate(text, limit).replace("|", "\\|")
    return _code_span(flat) if flat else "` `"


def inline_path(where: str, limit: int = 200) -> str:
    """``path:line`` as inline code, in which everything is seen; a long one loses its beginning, so that file and line
    remain.
    """
    flat = _redact_line(escape_unprintable(where), limit)
    end = flat if len(flat) <= limit else "…" + flat[1 - limit :].lstrip()
    return inline_code(end, limit)


def code_block(text: str, language: str = "") -> str:
    """A safe fenced block with the exact content, except for secrets.

    :param language: the language after the fence; ignored if it is not one word.
    """
    return _fence(_defuse_markers(redact_outgoing(text)), language if re.fullmatch(r"[\w+#.-]{1,40}", language) else "")


def suggestion_block(replacement: str) -> str:
    """A suggestion block with the exact replacement.

    :returns: an empty text if it would contain a secret or one of Forge's markers,
        or is too long.
    """
    safe = _defuse_markers(redact_outgoing(replacement)) == replacement and "\0" not in replacement
    return _fence(replacement, "suggestion") if safe and len(replacement) <= MAX_SUGGESTION else ""


def link(text: str, address: str | None) -> str:
    """The text as inline code, linked if the address is a plain one.

    :param address: only https, without anything that could end the link.
    """
    shown = inline_code(text)
    return f"[{shown}]({address})" if address and _ADDRESS.fullmatch(address) else shown


MAX_SUGGESTION = 20_000
"""Characters of the longest suggestion; GitHub takes 65,000 for the whole comment."""

_ADDRESS = re.compile(r"https://[A-Za-z0-9.-]{1,200}(?:/[\w./~%+=&?#,;:-]{0,1000})?", re.ASCII)
_FORGED = re.compile(r"<!--(?=\s*forge:)", re.IGNORECASE)


def cut_text(text: str, limit: int) -> str:
    """The text, cut between two characters to at most ``limit`` with "…"."""
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def cut_words(text: str, limit: int) -> str:
    """The text, cut behind a word to at most ``limit`` characters with "…": never within code, and not within
    parentheses where that leaves half of it.
    """
    if len(text) <= limit:
        return text
    kept = text[: limit - 1]
    ends = [at for at in range(limit - 1, 0, -1) if text[at].isspace()]
    plain = [end for end in ends if kept.count("`", 0, end) % 2 == 0]
    outside = [end for end in plain if 2 * end >= limit and kept.count("(", 0, end) <= kept.count(")", 0, end)]
    return kept[: [*outside, *plain, len(kept)][0]].rstrip() + "…"


def _truncate(text: str, limit: int) -> str:
    """One redacted line of at most ``limit`` characters, cut between two words where that leaves half of it."""
    flat = _redact_line(text, limit)
    end = flat.rfind(" ", limit // 2, limit) if len(flat) > limit else -1
    return cut_text(flat, limit if end < 0 else end + 1)


def _redact_line(text: str, limit: int) -> str:
    """One redacted line; reads only as much of a huge text as ``limit`` characters need."""
    return _defuse_markers(redact_outgoing(flatten_text(text[: 8 * limit + 4000])))


def _defuse_markers(text: str) -> str:
    """Makes sure that quoted text never looks like Forge's hidden markers."""
    return _FORGED.sub("<! --", text)


def _split(text: str, *, is_cell: bool) -> Iterator[tuple[bool, str]]:
    """(is code, text), with all active text as code."""
    for is_code, part in _code_spans(text):
        if is_code:
            yield from _split_cells(part) if is_cell else [(True, part)]
        else:
            yield from _split_active(part)


def _code_spans(text: str) -> Iterator[tuple[bool, str]]:
    """Splits a line at its inline code, as CommonMark does: a run of backticks closes the last one of its length."""
    runs = [match.span() for match in re.finditer("`+", text)]
    closing: dict[int, int] = {}
    nearest: dict[int, int] = {}
    for index in range(len(runs) - 1, -1, -1):
        length = runs[index][1] - runs[index][0]
        if length in nearest:
            closing[index] = nearest[length]
        nearest[length] = index
    reached, index = 0, 0
    while index < len(runs):
        if index in closing:
            (start, inner), (end, after) = runs[index], runs[closing[index]]
            yield False, text[reached:start]
            yield True, text[inner:end].strip()
            reached, index = after, closing[index]
        index += 1
    yield False, text[reached:]


def _split_cells(content: str) -> Iterator[tuple[bool, str]]:
    """Inline code without pipes: whether those need a backslash depends on the context."""
    for part in re.split(r"(\s*\|\s*)", content):
        yield not part.strip().startswith("|"), part


def _split_active(text: str) -> Iterator[tuple[bool, str]]:
    reached = 0
    for start, end in _find_active(text):
        yield False, text[reached:start]
        yield True, text[start:end]
        reached = end
    yield False, text[reached:]


def _find_active(text: str) -> Iterator[tuple[int, int]]:
    """The spans of a text that GitHub would act on."""
    places = [(match.start(), match.start() + len(match[0].rstrip(_TRAILING))) for match in _ACTS.finditer(text)]
    places = [(start, end) if text[start] != ":" else (start, end + 1) for start, end in places]
    if text.count("$") > 1:
        places += [match.span() for match in _FORMULA.finditer(text)]
    reached = 0
    for start, end in sorted(places):
        if start >= reached and end > start:
            yield start, end
            reached = end


def _merge_neighbours(parts: Iterator[tuple[bool, str]]) -> Iterator[tuple[bool, str]]:
    """Merges neighbours of one kind, since two adjacent code spans would not be read as two."""
    last: tuple[bool, str] | None = None
    for is_code, part in parts:
        if last is not None and last[0] == is_code:
            last = is_code, last[1] + part
            continue
        if last is not None:
            yield last
        last = is_code, part
    if last is not None:
        yield last


def _code_span(content: str) -> str:
    fence = "`" * (_longest_run(content) + 1)
    space = " " if content[:1] in "` " or content[-1:] in "` " else ""
    return f"{fence}{space}{content}{space}{fence}"


def _fence(content: str, language: str) -> str:
    fence = "`" * max(3, _longest_run(content) + 1)
    return f"{fence}{language}\n{content}\n{fence}" if content else f"{fence}{language}\n{fence}"


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall(r"`+", text)), default=0)


_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "|": "&#124;", "`": "&#96;"})
_MARKUP = re.compile(r"[\\*~\[\]]|(?<![^\W_])_|_(?![^\W_])")
_OPENS_A_BLOCK = re.compile(r"(?:(\d{1,9})(?=[.)])|(?=[#+=/:-]))")


def _escape_markdown(text: str) -> str:
    """Escapes emphasis, links, images, HTML, entities and cell ends."""
    return _MARKUP.sub(r"\\\g<0>", text).translate(_ENTITIES)


def _escape_line_start(text: str) -> str:
    """Escapes headings, lists, rules and commands of other Apps at the start of a line."""
    return _OPENS_A_BLOCK.sub(r"\1\\", text, count=1) if _OPENS_A_BLOCK.match(text) else text


class Markers:
    """Makes markers that only this App can make.

    A marker counts only in a comment by the App: others can copy one but not make one.

    :param secret: the App's own key material.
    """

    def __init__(self, secret: bytes) -> None:
        self._key = hashlib.sha256(b"forge marker\0" + secret).digest()

    def make(self, kind: str, run_id: str) -> str:
        """Makes the marker for a run's text, an HTML comment."""
        signature = hmac.new(self._key, f"{kind}\0{run_id}".encode(), hashlib.sha256).hexdigest()[:24]
        return f"<!-- forge:{kind}:{run_id}:{signature} -->"


def name_some(names: Iterable[str], most: int = MOST_NAMED) -> str:
    """The first of them, and how many more there are."""
    every = list(names)
    left = len(every) - most
    return ", ".join(every[:most]) + (f" and {left:,} more" if left > 0 else "")


def name_count(number: int, one: str, many: str = "") -> str:
    """A number with its noun, as ``1 test`` or ``1,200 tests``.

    :param many: the plural, where it is not made by an s.
    """
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def format_moment(moment: datetime) -> str:
    """To the minute, in UTC."""
    return moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")


def format_day(moment: datetime) -> str:
    """In UTC."""
    return moment.astimezone(UTC).strftime("%Y-%m-%d")


def join_paragraphs(parts: Iterable[str]) -> str:
    """Those that say something, as paragraphs."""
    return "\n\n".join(part for part in parts if part)
