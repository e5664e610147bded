"""Reads slash commands from a comment: what does not match the grammar (docs/commands.md) exactly is a mistake.

Only lines of plain paragraphs at the top level command, as GitHub shows them. What it shows as a quote, list, table,
heading, code, link, emphasis or HTML is somebody else's text or an example.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from itertools import islice
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.token import Token
from pydantic import ValidationError

from agents.syntax.quotes import split_quotes
from domain.slash import MOST_COMMANDS, SLASH, Problem, SlashCommand, SlashMistake
from domain.text.escaping import cut_text, flatten_text, strip_invisible
from domain.text.hidden_characters import fold_alike
from domain.verbs import FINDING, INSTRUCTING, MEANT, OPTIONAL_FINDING, VERBS, Verb

PREFIX = "/forge"
_LETTER = r"[^\W\d_]"
LONGEST_QUOTE = 200  # characters of a wrong line that the answer quotes
_SIMILAR = 0.75  # how similar a verb must be to suggest it

_LINE = re.compile(r"\S+[ \t]*(?P<verb>\S*)[ \t]*(?P<rest>.*)", re.DOTALL)

_WITHOUT_SLASH = re.compile(r"forge do[ \t]+\S.*", re.IGNORECASE)  # no sentence begins a comment so

_TEXTS = frozenset({"reason", "conditions", "text"})
_NAMES = frozenset({"finding"})
_PATH = re.compile(r"`([^`]+)`|\"([^\"]+)\"|(\S+)")


def _spell_nearly(word: str) -> Iterator[str]:
    """Patterns of the word itself and of each that one letter makes: missing, more, another or swapped."""
    for at, letter in enumerate(word):
        before, after = word[:at], word[at + 1 :]
        yield before + letter + after
        yield before + after
        yield before + _LETTER + after
        yield before + _LETTER + letter + after
        yield before + after[:1] + letter + after[1:]
    yield word + _LETTER


_SPELLINGS = "|".join(dict.fromkeys(_spell_nearly(PREFIX[1:])))
_NAMED = re.compile(f"/(?:{_SPELLINGS})", re.IGNORECASE)
_NEAR = re.compile(
    rf"\s*+(?:[-+*]\s|\d{{1,9}}[.)]\s)?+[\s*_]*+/(?:{_SPELLINGS})[\W_]*(?P<rest>(?:{'|'.join(VERBS)})(?:[\s*_].*)?)",
    re.IGNORECASE | re.DOTALL,
)
_OTHER_SCRIPT = re.compile(rf"\s*{PREFIX}(?P<rest>[^\x00-\x7f]{{1,20}})", re.IGNORECASE)


MOST_READ = 16_000  # characters of a comment; text after them never commands

_IN_LIST = 2  # how deep the paragraphs of a list are that stands in nothing else

_MARKDOWN = MarkdownIt("commonmark").enable("strikethrough")
_STARTS = re.compile(rf"{PREFIX}(?=[ \t]|$)", re.IGNORECASE)
_STARTS_RAW = re.compile(rf"[ ]{{0,3}}{PREFIX}", re.IGNORECASE)
_DELIMITERS = re.compile(r"\|?[ \t]*:?-+:?[ \t]*(\|[ \t]*:?-+:?[ \t]*)*\|?")
_TAG = re.compile(r"""<(/?)([a-z][a-z0-9-]*)(?=[\s/>])(?:[^<>"']|"[^"]*"|'[^']*')*>""", re.IGNORECASE)
_FOOTNOTE = re.compile(r"[ ]{0,3}\[\^[^\]\s]+\]:")
_CODE = re.compile(r"(`+)[^`]+\1")
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_BEGINS_TAG = re.compile(r"<!--|</?[a-z]", re.IGNORECASE)
_IN_TAG = re.compile(r"""(?>[^>"']|"[^"]*"|'[^']*')*""")
_ENCLOSING = frozenset(
    re.findall(
        r"\w+",
        """a abbr b bdo blockquote caption cite code dd del details dfn div dl dt em figcaption figure h1 h2 h3 h4 h5 h6
        i ins kbd li mark ol p picture pre q rp rt ruby s samp small span strike strong sub summary sup table tbody td
        tfoot th thead time tr tt ul var""",
    )
)
"""The elements that GitHub allows and that enclose something; it removes all others."""


class CommandLine(NamedTuple):
    """A line that commands, or nearly so.

    :param text: as far as it matters for a command; see :func:`_source`.
    :param written: the same and all below it, up to the next such line, without quotes and comments that GitHub hides.
    """

    text: str
    written: str


def is_exact(line: str) -> bool:
    """Whether a line begins with ``/forge`` as it has to, and not with what merely looks like it."""
    return _STARTS.match(line) is not None


def find_command_lines(body: str) -> Iterator[CommandLine]:
    """The lines that begin with ``/forge``, or nearly so, where a command may stand."""
    if not names_nearly(body):
        return
    raw = re.split(r"\r\n?|\n", body.replace("\0", "\ufffd"))
    found = list(_find_lines(raw))
    ends = [*(number for number, _ in found[1:]), len(raw)]
    for (number, text), end in zip(found, ends, strict=False):
        yield CommandLine(text, split_quotes(_COMMENT.sub("", "\n".join(raw[number:end])))[1])


def _find_lines(raw: Sequence[str]) -> Iterator[tuple[int, str]]:
    """The lines of a comment that may command, with their numbers."""
    env: dict[str, object] = {}  # where the parser keeps link definitions
    blocks: list[Token] = []
    _MARKDOWN.block.parse("\n".join(raw), _MARKDOWN, env, blocks)
    open_tags, math = _OpenTags(), _Math(block.content for block in blocks if block.type == "inline")
    notes = _mark_footnotes(raw)
    left = MOST_READ
    for index, block in enumerate(blocks):
        if block.type == "html_block":
            open_tags.read_block(block.content)
        if block.type != "inline":
            continue
        tokens, parent = _inline(block.content, env, left), blocks[index - 1]
        left -= 0 if not tokens else len(block.content)
        is_item = parent.level == _IN_LIST and blocks[index - 2].type == "list_item_open"
        may_command = parent.type == "paragraph_open" and (parent.level == 0 or is_item) and names_nearly(block.content)
        if may_command and parent.map is not None and tokens is not None:
            first = parent.map[0]
            outside = [
                not (math_ or note)
                for math_, note in zip(
                    math.mark_formulas(raw[first : parent.map[1]]), notes[first : parent.map[1]], strict=True
                )
            ]
            for index, text in _find_in_paragraph(tokens, raw[first], open_tags, outside):
                if is_item and (index or is_exact(text)):
                    continue  # an example, or what somebody else is to do
                yield _find_number(raw, first + index, parent.map[1], text), text
        else:
            open_tags.follow(block.content, tokens)
        math.read(block.content)


def _find_number(raw: Sequence[str], start: int, end: int, text: str) -> int:
    """Where a line of a paragraph stands: code over several lines, which is parsed as one, may have moved it."""
    return next((number for number in range(start, end) if raw[number].strip() == text.strip()), start)


def _inline(text: str, env: dict[str, object], longest: int) -> list[Token] | None:
    """The tokens of a paragraph or another text; empty if they do not matter, None if it is too long to be read."""
    if not names_nearly(text) and "<" not in text:
        return []
    if len(text) > longest:
        return None
    tokens: list[Token] = []
    _MARKDOWN.inline.parse(text, _MARKDOWN, env, tokens)
    return tokens


def _mark_footnotes(raw: Sequence[str]) -> list[bool]:
    """Which lines belong to a footnote, which ends at a blank line.

    CommonMark has no footnotes, and parses the start of one as a link definition.
    """
    found: list[bool] = []
    for line in raw:
        found.append(bool(_FOOTNOTE.match(line)) or (bool(line.strip()) and found[-1:] == [True]))
    return found


def _find_in_paragraph(
    tokens: Sequence[Token], first_raw: str, open_tags: "_OpenTags", outside: Sequence[bool]
) -> Iterator[tuple[int, str]]:
    """The lines of a paragraph that may command, with their places in it.

    :param first_raw: the paragraph's first line as written, because the parser strips more than spaces from its start.
    :param outside: for each line, whether it is outside formulas and footnotes.
    """
    lines = _lines(tokens)
    written = ["".join(map(_source, line)) for line in lines]
    in_table = _mark_table(written)
    for index, (line, text) in enumerate(zip(lines, written, strict=True)):
        is_plain = not open_tags.any and not in_table[index] and all(outside[index : index + 1]) and line != []
        open_tags.follow("", line)
        if not is_plain or line[0].level != 0:
            continue
        if is_exact(text) and (index or _STARTS_RAW.match(first_raw)):
            yield index, text.rstrip(" \t")
        elif complete(text) or (is_exact(text) and not first_raw.isascii()):
            yield index, text if index else first_raw


def _lines(tokens: Sequence[Token]) -> list[list[Token]]:
    lines: list[list[Token]] = [[]]
    for token in tokens:
        if token.type in {"softbreak", "hardbreak"}:
            lines.append([])
        else:
            lines[-1].append(token)
    return lines


def _source(token: Token) -> str:
    """A token as written, as far as it matters: text that only looks like a command when shown must not be one."""
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


def _mark_table(lines: Sequence[str]) -> list[bool]:
    """Which lines of a paragraph GitHub shows as a table: from the one before a row of dashes to the end.

    CommonMark has no tables; if in doubt, this sees one.
    """
    for index, line in enumerate(lines[1:]):
        if ("|" in line or ":" in line) and _DELIMITERS.fullmatch(line.strip(" \t")):
            return [position >= index for position in range(len(lines))]
    return [False] * len(lines)


def _ends_in_tag(html: str) -> bool:
    position = 0
    while (begun := _BEGINS_TAG.search(html, position)) is not None:
        if begun[0] == "<!--":
            end = html.find("-->", begun.end())
            position = len(html) if end < 0 else end
            continue
        ended = _IN_TAG.match(html, begun.end())
        position = ended.end() if ended else len(html)
        if not html.startswith(">", position):
            return True
    return False


class _Math:
    """Finds formulas, which stand between `$$` and `$$`; a `$$` without its pair is plain text."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._total = sum(map(self._count, texts))
        self._read = 0

    def read(self, text: str) -> None:
        """Move past a text."""
        self._read += self._count(text)

    def mark_formulas(self, lines: Sequence[str]) -> list[bool]:
        """Which lines of the next text begin inside a formula."""
        found, read = list[bool](), self._read
        for line in lines:
            before, read = read, read + self._count(line)
            is_within = before % 2 == 1 and before < self._total
            found.append(is_within)
        return found

    @staticmethod
    def _count(text: str) -> int:
        return _CODE.sub("", text).count("$$") if "$$" in text else 0


class _OpenTags:
    """Tracks which HTML elements are open; text inside one is not plain."""

    def __init__(self) -> None:
        self._depth: dict[str, int] = {}
        self._is_cut = False  # a tag is still open when its block ends, so GitHub shows what follows as part of it

    @property
    def any(self) -> bool:
        return self._is_cut or any(self._depth.values())

    def read_block(self, html: str) -> None:
        self.read(html)
        self._is_cut |= _ends_in_tag(html)

    def follow(self, text: str, tokens: Sequence[Token] | None) -> None:
        """Read the HTML among the tokens of a text, or all that looks like HTML if it was not parsed."""
        for html in [text] if tokens is None else [each.content for each in tokens if each.type == "html_inline"]:
            self.read(html)

    def read(self, html: str) -> None:
        for closing, name in _TAG.findall(html):
            tag = str(name).lower()
            if tag in _ENCLOSING:
                self._depth[tag] = max(0, self._depth.get(tag, 0) + (-1 if closing else 1))


def names_nearly(text: str) -> bool:
    """Whether ``/forge``, or what is nearly that, stands anywhere in a text."""
    return _NAMED.search(unify(text)) is not None


def complete(line: str) -> str | None:
    """The line with ``/forge`` and a blank in place of what nearly is that; None if it is a line like any other."""
    seen = unify(line)
    found = _NEAR.fullmatch(seen) or _OTHER_SCRIPT.fullmatch(seen)
    return None if found is None else f"{PREFIX} {found['rest'].rstrip(' *_')}"


def unify(text: str) -> str:
    """The text as it looks to people: plain blanks, slashes and letters, and nothing that cannot be seen."""
    return text if text.isascii() else fold_alike(unicodedata.normalize("NFKC", strip_invisible(text)))


def read(body: str, in_thread: bool = False) -> tuple[SlashCommand | SlashMistake, ...]:
    """The commands and mistakes of a comment, in order.

    :param body: Markdown as the author wrote it.
    :param in_thread: whether it is a reply in a review thread, where the finding's id may be left out.
    """
    found = tuple(_parse_lines(find_command_lines(body), in_thread))
    bare = None if found else _WITHOUT_SLASH.match(body)
    return found if bare is None else (_mistake(Problem.near_miss, bare[0], Verb.do),)


def _parse_lines(lines: Iterator[CommandLine], in_thread: bool) -> Iterator[SlashCommand | SlashMistake]:
    found = ((line.text, made) for line in lines if (made := _read_any(line, in_thread)) is not None)
    for _, made in islice(found, MOST_COMMANDS):
        yield made
    for line, _ in islice(found, 1):
        yield _mistake(Problem.too_many, line)


def _read_any(line: CommandLine, in_thread: bool) -> SlashCommand | SlashMistake | None:
    if not is_exact(line.text):
        return _read_near_miss(line.text, in_thread)
    return read_line(line.text, in_thread, line.written)


def _read_near_miss(line: str, in_thread: bool) -> SlashMistake | None:
    """The mistake in a line that is a command but for its first characters; None if it is a sentence like any other."""
    seen, meant = unify(line).strip(), read_line(complete(line) or "", in_thread)
    if not isinstance(meant, SlashMistake):
        return _mistake(Problem.near_miss, seen, meant.verb)
    is_unknown = meant.problem is Problem.unknown_verb and meant.verb is None
    return _mistake(Problem.unknown_verb, seen) if is_unknown else None


def read_line(line: str, in_thread: bool = False, written: str = "") -> SlashCommand | SlashMistake:
    """The command of one line, which begins with ``/forge``.

    :param written: the same with what stands below it, which belongs to a free text at its end.
    """
    parts = _LINE.fullmatch(line)
    word = parts["verb"] if parts else ""
    if parts is None or not word:
        return _mistake(Problem.no_verb, line)
    verb = _BY_NAME.get(word.lower()) if word.isascii() else None
    meant = _find_meant(f"{word} {parts['rest']}") if verb in {None, Verb.fix} else None
    if verb is None or meant is not None:
        return _diagnose_verb(word, line, meant)
    whole = _LINE.fullmatch(written)
    is_same = whole is not None and whole["verb"].lower() == word.lower()
    return _parse_arguments(verb, parts["rest"], in_thread, line, whole["rest"] if whole and is_same else "")


def _diagnose_verb(word: str, line: str, meant: Verb | None) -> SlashMistake:
    if meant is None and word.lower() == "merge":
        return _mistake(Problem.merges, line, Verb.update)
    near = get_close_matches(word.lower()[:40], _BY_NAME, n=1, cutoff=_SIMILAR)
    return _mistake(Problem.unknown_verb, line, meant or (_BY_NAME[near[0]] if near else None))


def _find_meant(words: str) -> Verb | None:
    """The verb for what people write in place of one."""
    said = " ".join(words.lower().split())[:LONGEST_QUOTE]
    return next((verb for verb, pattern in MEANT if re.match(rf"(?:{pattern})\b", said)), None)


_BY_NAME = {verb.value: verb for verb in VERBS}


def _parse_arguments(verb: Verb, rest: str, in_thread: bool, line: str, whole: str) -> SlashCommand | SlashMistake:
    pattern = _pattern(verb, in_thread)
    found = (pattern.fullmatch(whole) if _TEXTS & {*pattern.groupindex} else None) or pattern.fullmatch(rest)
    if found is None or "<!" in rest:  # GitHub hides an HTML comment from readers
        return _mistake(_diagnose(verb, rest, in_thread), line, verb)
    try:
        return SLASH.validate_python({"verb": verb, **_values(verb, found.groupdict())})
    except ValidationError as error:
        too_long = any(each["type"] == "string_too_long" for each in error.errors(include_url=False))
        return _mistake(Problem.too_long if too_long else Problem.malformed, line, verb)


@cache
def _pattern(verb: Verb, in_thread: bool) -> re.Pattern[str]:
    finding = OPTIONAL_FINDING if in_thread else FINDING
    return re.compile(VERBS[verb].arguments.replace("{finding}", finding) + r"[ \t]*", re.DOTALL)


def _values(verb: Verb, groups: Mapping[str, str | None]) -> dict[str, object]:
    return {name: _value(verb, name, text) for name, text in groups.items() if text is not None}


def _value(verb: Verb, name: str, text: str) -> object:
    if name in _TEXTS and verb in INSTRUCTING:
        return _keep_lines(strip_invisible(text))
    if name in _TEXTS:
        return flatten_text(text)
    if name in _NAMES:
        return text.upper()
    if name in ("mode", "effort", "about", "scope"):
        return text.lower()
    if name == "path":
        return text.strip().strip('`"')
    if name == "paths":
        return tuple(next(filter(None, found.groups())) for found in _PATH.finditer(text))
    return True if name in ("full", "here", "everything", "apply") else text


def _keep_lines(text: str) -> str:
    first, *below = text.strip().split("\n")
    return "\n".join([" ".join(first.split()), *map(str.rstrip, below)])


def _diagnose(verb: Verb, rest: str, in_thread: bool) -> Problem:
    needs_finding = VERBS[verb].needs_finding and not in_thread
    return Problem.no_finding if needs_finding and not re.match(FINDING, rest) else Problem.malformed


def _mistake(problem: Problem, line: str, verb: Verb | None = None) -> SlashMistake:
    return SlashMistake(problem=problem, written=cut_text(flatten_text(line), LONGEST_QUOTE), verb=verb)
