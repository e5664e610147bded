"""Reads the lines of a file as tokens, so that statements are equal where nothing differs that programs obey.

Only Python and JavaScript are read so: their formatters (black, prettier) lay whole statements out anew. Of every other
language a line counts as it is written, but for its indentation, because somewhere each space means something.
"""

import hashlib
import keyword
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

_PYTHON = re.compile(
    r"""(?P<space>[ \t\r\f]++|\\\r?\n)|(?P<line>\n)|(?P<comment>\#[^\n]*+)
    |(?P<string>\"{3}(?:[^\\]|\\.)*?(?:\"{3}|\Z)|'{3}(?:[^\\]|\\.)*?(?:'{3}|\Z)
        |\"(?:[^\"\\\n]|\\.)*+\"?|'(?:[^'\\\n]|\\.)*+'?)
    |(?P<word>\w++)|(?P<sign>\*\*=?|//=?|>>=?|<<=?|->|:=|[-+*/%&|^@=!<>]=|.)""",
    re.DOTALL | re.VERBOSE,
)
_JAVASCRIPT = re.compile(
    r"""(?P<space>[ \t\r\f]++)|(?P<line>\n)|(?P<comment>(?:^|(?<=[ \t;]))//(?![^\n]*[{<])[^\n]*+)
    |(?P<string>//[^\n]*+|/\*.*?(?:\*/|\Z)|\"(?:[^\"\\\n]|\\.)*+\"?|'(?:[^'\\\n]|\\.)*+'?
        |`(?:[^`\\$]|\\.|\$\{(?:[^`{}]|`(?:[^`\\]|\\.)*+`|\{[^{}`]*+\})*+\}|\$)*+`?)
    |(?P<word>[\w$]++)
    |(?P<sign>>>>=?|\*\*=?|===|!==|\.\.\.|&&=?|\|\|=?|\?\?=?|\?\.|=>|\+\+|--|<<=?|>>=?|[-+*/%&|^=!<>]=|.)""",
    re.DOTALL | re.VERBOSE | re.MULTILINE,
)
"""A comment with a brace or a tag counts: between the tags of JSX it may be shown, and run."""
_REGEX = re.compile(r"/(?![*/])(?:[^/\\\n\[]|\\.|\[(?:[^\]\\\n]|\\.){0,200}+\]){1,1000}+/\w*+")
_LANGUAGES = {
    **dict.fromkeys(("py", "pyi"), _PYTHON),
    **dict.fromkeys(("js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts"), _JAVASCRIPT),
}
_SWAPPED = re.compile(r"('{3}|')([^'\"\\]*)\1")
_PAIRS = {")": "(", "]": "[", "}": "{"}
_OPENS, _CLOSES = frozenset(_PAIRS.values()), frozenset(_PAIRS)
_MOST_UNCLOSED = 20
"""Brackets without an end that are passed over, as in text between the tags of JSX."""
_NO_CALLS = frozenset({*keyword.kwlist, *keyword.softkwlist, "return", "typeof", "case"})
"""Words behind which brackets are no call's, and a slash begins a regular expression."""


class _Token(NamedTuple):
    kind: str
    text: str


_START = _Token("line", "\n")


@dataclass
class _Bracket:
    """An open bracket.

    :param follows: it stands behind a name or another bracket, as of a call or an index.
    """

    sign: str
    follows: bool
    commas: int = 0


def list_bare(path: str, lines: Sequence[str]) -> list[str]:
    """Each line without what no program obeys; joined, they are equal for equal statements.

    :param path: of the file, whose ending tells the language.
    """
    language = _LANGUAGES.get(path.lower().rpartition(".")[2])
    if language is None:
        return [f"{bare}\n" if (bare := line.strip(" \t\r\f")) else "" for line in lines]
    reader = _Reader(language is _PYTHON)
    for token in _read(language, "\n".join(lines)):
        reader.take(token)
    return ["".join(line) for line in reader.lines]


def _read(language: re.Pattern[str], text: str) -> Iterator[_Token]:
    """The tokens; regular expressions of JavaScript are told by what stands before them.

    Behind what may be read in two ways on its line, nothing counts as a comment: a slash may begin a regular
    expression, and since Python 3.12 a quotation mark may stand within a text of its own kind.
    """
    at, last, is_sure = 0, _START, True
    while at < len(text):
        found = language.match(text, at)
        assert found is not None, "a sign is any character"
        token = _Token(found.lastgroup or "", found[0])
        if token.kind == "comment" and not is_sure:
            token = _Token("string", token.text)
        if token.text in ("/", "/=") and language is _JAVASCRIPT and _may_begin_regex(last):
            literal = _REGEX.match(text, at)
            token = _Token("string", literal[0]) if literal else token
        at += len(token.text)
        is_sure = token.kind == "line" or (is_sure and not _is_unsure(token, language))
        last = last if token.kind in ("space", "comment") else token
        yield token


def _is_unsure(token: _Token, language: re.Pattern[str]) -> bool:
    if language is _JAVASCRIPT:
        return token.kind == "sign" and token.text in ("/", "/=")
    return token.kind == "string" and token.text.count("{") != token.text.count("}")


def _may_begin_regex(before: _Token) -> bool:
    if before.kind == "word":
        return before.text in _NO_CALLS
    return before.kind == "line" or (before.kind == "sign" and before.text not in _CLOSES)


@dataclass
class _Reader:
    """Puts tokens in lines, without line ends, commas and quotation marks that formatters choose."""

    is_python: bool
    lines: list[list[str]] = field(default_factory=lambda: [[]])
    _open: list[_Bracket] = field(default_factory=list[_Bracket])
    _last: _Token = _START
    _before: _Token = _START
    _at: int = 0  # the line of the last token
    _ends: int = -1  # the line whose end may say something

    def take(self, token: _Token) -> None:
        if token.kind == "line":
            if self._ends < 0 and self._may_end():
                self._ends = len(self.lines) - 1
            self.lines.append([])
            return
        if token.kind in ("space", "comment"):
            return
        self._end_line(token)
        if token.kind == "string":
            self._put_string(token.text)
        else:
            if token.text in _CLOSES:
                self._close(token.text)
            self._put(token.text)
            self._note(token.text)
        self._before, self._last, self._at = self._last, token, len(self.lines) - 1

    def _may_end(self) -> bool:
        """Whether a statement may end here: not within brackets, nor where it has to go on."""
        within = "([{" if self.is_python else "(["
        if (self._open and self._open[-1].sign in within) or self._last.text in _OPENS or self._last.text == ",":
            return False
        return self.is_python or self._last.kind != "sign" or self._last.text in {"++", "--", ";", *_CLOSES}

    def _end_line(self, token: _Token) -> None:
        """Keep the end of the line before, unless the next token goes on."""
        if self._ends >= 0 and token.text not in _CLOSES and (self.is_python or token.text not in (".", "?.")):
            self.lines[self._ends].append("\n")
        self._ends = -1

    def _put(self, text: str) -> None:
        self.lines[-1].append(f"{text} ")

    def _put_string(self, text: str) -> None:
        """A string by digests, line for line, so that nothing in it is taken for code."""
        swapped = _SWAPPED.fullmatch(text)
        plain = text if swapped is None else swapped[2].join(['"' * len(swapped[1])] * 2)
        first, *more = plain.split("\n")
        self._put(f'"{_digest(first)}"')
        for each in more:
            self.lines.append([])
            self._put(f'"{_digest(each)}"')

    def _note(self, text: str) -> None:
        if text in _OPENS:
            is_name = self._last.kind == "word" and self._last.text not in _NO_CALLS
            follows = is_name or self._last.kind == "string" or self._last.text in _CLOSES
            self._open.append(_Bracket(text, follows))
        elif text == "," and self._open:
            self._open[-1].commas += 1

    def _close(self, text: str) -> None:
        """Drop a comma before the bracket, unless that makes a tuple of one, or a hole in an array."""
        near = range(len(self._open) - 1, max(len(self._open) - _MOST_UNCLOSED, 0) - 1, -1)
        at = next((at for at in near if self._open[at].sign == _PAIRS[text]), None)
        if at is None:
            return
        opened = self._open[at]
        del self._open[at:]
        if self._last.text != "," or self._before.text == "," or self._before.text in _OPENS:
            return
        is_free = not self.is_python or text == "}" or opened.follows is (text == ")")
        if is_free or opened.commas > 1:
            self.lines[self._at].pop()


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:16]
