"""Follows findings from push to push by their statements' tokens: one that was there keeps the identity it had.

Only Python and JavaScript are read as tokens: their formatters (black, prettier) lay whole statements out anew. Of
every other language a line counts as it is written, but for its indentation, because somewhere each space means
something.
"""

import hashlib
import keyword
import re
from collections import Counter
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import NamedTuple

from domain.review.changes import FileChange
from domain.review.findings import Category, Finding, Fix, compute_secondary_fingerprint, remove_place

_PAIRS = {")": "(", "]": "[", "}": "{"}
_OPENING, _CLOSING = frozenset(_PAIRS.values()), frozenset(_PAIRS)


class _Token(NamedTuple):
    kind: str
    text: str


_BEFORE, _AFTER = 4, 9
"""Lines of a statement before and after the line of its finding."""
_LEAST = 8
"""Characters of a statement that say enough to be found again among other lines."""
_NEIGHBOURS = 2
"""Written lines before and after a statement that tell where it stands."""
_IN_COMMON = 0.5
"""From this share of their lines on, two places are one."""
_OPENS, _CLOSES = "([{", ")]}"
_LONGEST = 1_000
"""Characters from which a line is known by its digest: nobody lays it out anew, and machines write such lines."""


class Statements:
    """The statements of a file, by lines that stand in them: what no program obeys does not count.

    Each line is looked at once, however many findings there are and however long it is, as in a minified file.

    :param lines: of the file; those that are asked about are 1-based.
    :param path: of the file.
    """

    def __init__(self, lines: Sequence[str], path: str) -> None:
        self._lines, self._path = lines, path
        self._depth: dict[int, int] = {}  # by index
        self._around: dict[int, tuple[str, ...]] = {}

    def digest(self, line: int | None, end_line: int | None) -> str:
        """The digest of the statement that a finding is about.

        :param line: None: the finding is about the file, and the digest is empty.
        :param end_line: the last line that the tool names.
        """
        if line is None or not 1 <= line <= len(self._lines):
            return ""
        start, end = self._find(line, end_line)
        return _digest(self._strip(start - 1, end))

    def digest_lines(self, line: int | None, end_line: int | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The digests of the lines of the same statement, and of those of code next to it."""
        if line is None or not 1 <= line <= len(self._lines):
            return (), ()
        start, end = self._find(line, end_line)
        before = self._list_written(max(start - 10, 0), start - 1)[-_NEIGHBOURS:]
        after = self._list_written(end, end + 10)[:_NEIGHBOURS]
        own = self._list_written(start - 1, end)
        return tuple(_digest(text)[:8] for text in own), tuple(_digest(text)[:8] for text in (*before, *after))

    def list_around(self, line: int | None) -> tuple[str, ...]:
        """The digests of all ranges of lines around a finding that may be its statement, however it is laid out."""
        if line is None or not 1 <= line <= len(self._lines):
            return ()
        if line not in self._around:
            starts = range(max(line - _BEFORE, 1), line + 1)
            ends = range(line, min(len(self._lines), line + _AFTER) + 1)
            found = (self._strip(start - 1, end) for start in starts for end in ends)
            self._around[line] = tuple(dict.fromkeys(_digest(each) for each in found if len(each) >= _LEAST))
        return self._around[line]

    def _find(self, line: int, end_line: int | None) -> tuple[int, int]:
        """Its first and its last line."""
        above = range(max(line - _BEFORE, 1), line)
        start = min((at for at in above if self._is_open(at - 1, line - 1)), default=line)
        end, last = max(end_line or line, line), min(len(self._lines), line + _AFTER)
        while end < last and self._is_open(start - 1, end):
            end += 1
        return start, end

    def _list_written(self, start: int, end: int) -> list[str]:
        """The lines of a range in which something stands."""
        return [bare for at in range(start, min(end, len(self._lines))) if (bare := self._short[at].strip())]

    def _is_open(self, start: int, end: int) -> bool:
        return sum(map(self._count_depth, range(start, min(end, len(self._lines))))) > 0

    def _count_depth(self, at: int) -> int:
        if at not in self._depth:
            text = self._bare[at]
            self._depth[at] = sum(map(text.count, _OPENS)) - sum(map(text.count, _CLOSES))
        return self._depth[at]

    def _strip(self, start: int, end: int) -> str:
        return "".join(self._short[start:end]).strip()

    @cached_property
    def _bare(self) -> Sequence[str]:
        return list_bare(self._path, self._lines)

    @cached_property
    def _short(self) -> Sequence[str]:
        return [each if len(each) <= _LONGEST else f"{_digest(each)}\n" for each in self._bare]


def carry_over(finding: Finding, since: FileChange) -> Finding:
    """A finding of an earlier head where its line is now, or the line that replaced it; else without a line.

    It loses its fix where any line that this replaces was changed.

    :param since: how its file changed between that head and this one.
    """
    finding = finding.model_copy(update={"path": since.path})
    if finding.line is None:
        return finding
    line = since.current_line(finding.line)
    if line is None:
        return remove_place(finding)
    moved = finding.move(line - finding.line)
    end_line = finding.end_line and max(line, since.current_line(finding.end_line) or line)
    fix = moved.fix if finding.fix is None or _is_untouched(finding.fix, since, line - finding.line) else None
    return moved.model_copy(update={"end_line": end_line, "fix": fix})


def _is_untouched(fix: Fix, since: FileChange, by: int) -> bool:
    return all(since.head_line(line) == line + by for line in range(fix.start_line, fix.end_line + 1))


def find_again(finding: Finding, lines: Sequence[str]) -> Finding | None:
    """A finding at its statement, wherever that stands by now; None where it is another one.

    :param lines: of its file at head.
    """
    if finding.line is None:
        return finding
    start, length = finding.line, (finding.end_line or finding.line) - finding.line
    statements = Statements(lines, finding.path)
    near = sorted(range(1, len(lines) + 1), key=lambda line: abs(line - start))
    line = next((each for each in near if statements.digest(each, each + length) == finding.statement), None)
    return None if line is None else finding.move(line - start)


def find_moved(
    finding: Finding, texts: Mapping[str, Sequence[str]], added: Mapping[str, Collection[int]]
) -> Finding | None:
    """A finding whose statement came to stand elsewhere, without its fix; None if it did nowhere, or in several places.

    :param texts: path → lines at head.
    :param added: path → numbers of the lines that are new there.
    """
    if finding.line is None or not finding.statement:
        return None
    length = (finding.end_line or finding.line) - finding.line
    hits: list[tuple[str, int]] = []
    for path, lines in texts.items():
        statements, before = Statements(lines, path), 0
        for line in sorted(added.get(path, ())):
            if statements.digest(line, line + length) == finding.statement:
                hits += [(path, line)] if line != before + 1 else []  # the next line of the same statement
                before = line
    if len(hits) != 1:
        return None
    [(path, line)] = hits
    end_line = finding.end_line and line + length
    return finding.model_copy(update={"path": path, "line": line, "end_line": end_line, "fix": None})


def follow(
    findings: Sequence[Finding],
    earlier: Sequence[Finding],
    renamed: Mapping[str, str],
    settled: Collection[str] = (),
) -> tuple[Finding, ...]:
    """The findings, in which those that were there before have their earlier fingerprint.

    A finding is the same where its rule, its message (numbers aside) and its statement are, wherever that stands in the
    file and however it is laid out. So is one whose statement changed in its place, as after half a fix, but only if
    nobody decided about it: no dismissal covers a statement that says something else.
    Each earlier one is one of them at most. Credentials are followed by their trail.

    :param earlier: all of the pull request, each as it was found last.
    :param renamed: path at head → path before, of the files that the change moved.
    :param settled: fingerprints of those that people decided about.
    """
    there = {each.fingerprint for each in earlier}
    known = {each.fingerprint for each in findings}
    left = [each for each in earlier if each.fingerprint not in known and not each.is_credential]
    kept: dict[int, str] = {}
    undecided = {each.fingerprint for each in left} - {*settled}
    for is_same in (_is_same_statement, _is_laid_out_anew, partial(_is_in_place, undecided=undecided)):
        for index, finding in enumerate(findings):
            if index in kept or finding.fingerprint in there or finding.is_credential:
                continue
            names = {finding.path, renamed.get(finding.path, finding.path)}
            alike = (each for each in left if each.path in names and _read_words(finding) == _read_words(each))
            match = next((each for each in alike if is_same(finding, each)), None)
            if match is not None:
                left.remove(match)
                kept[index] = match.fingerprint
    return tuple(
        each.model_copy(update={"fingerprint": kept[index]}) if index in kept else each
        for index, each in enumerate(findings)
    )


def _read_words(finding: Finding) -> Hashable:
    return compute_secondary_fingerprint(finding.rule, "", finding.message)


def _is_same_statement(finding: Finding, earlier: Finding) -> bool:
    is_about_file = finding.line is None and earlier.line is None
    return finding.statement == earlier.statement and (bool(finding.statement) or is_about_file)


def _is_laid_out_anew(finding: Finding, earlier: Finding) -> bool:
    return earlier.statement in finding.statements_around


def _is_in_place(finding: Finding, earlier: Finding, undecided: Collection[str]) -> bool:
    """Whether its statement changed where it stood: most of its lines and of those next to it, or of these alone."""
    if earlier.fingerprint not in undecided or finding.category is Category.avoidance:
        return False
    own, theirs = (each.statement_lines + each.surroundings for each in (finding, earlier))
    return _are_alike(own, theirs) or _are_alike(finding.surroundings, earlier.surroundings)


def _are_alike(own: Sequence[str], theirs: Sequence[str]) -> bool:
    return (Counter(own) & Counter(theirs)).total() >= _IN_COMMON * max(len(own), len(theirs), 1)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:32]


@dataclass
class _Bracket:
    """An open bracket.

    :param follows: it stands behind a name or another bracket, as of a call or an index.
    """

    sign: str
    follows: bool
    commas: int = 0


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
_MOST_UNCLOSED = 20
"""Brackets without an end that are passed over, as in text between the tags of JSX."""
_NO_CALLS = frozenset({*keyword.kwlist, *keyword.softkwlist, "return", "typeof", "case"})
"""Words behind which brackets are no call's, and a slash begins a regular expression."""
_START = _Token("line", "\n")


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
    return before.kind == "line" or (before.kind == "sign" and before.text not in _CLOSING)


@dataclass
class _Reader:
    """Puts tokens in lines, without line ends, commas and quotation marks that formatters choose."""

    is_python: bool
    lines: list[list[str]] = field(default_factory=lambda: [list[str]()])
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
            self.lines += [[] for _ in range(token.text.count("\n"))]  # of Python's, whose backslash ends no statement
            return
        self._end_line(token)
        if token.kind == "string":
            self._put_string(token.text)
        else:
            if token.text in _CLOSING:
                self._close(token.text)
            self._put(token.text)
            self._note(token.text)
        self._before, self._last, self._at = self._last, token, len(self.lines) - 1

    def _may_end(self) -> bool:
        """Whether a statement may end here: not within brackets, nor where it has to go on."""
        within = "([{" if self.is_python else "(["
        if (self._open and self._open[-1].sign in within) or self._last.text in _OPENING or self._last.text == ",":
            return False
        return self.is_python or self._last.kind != "sign" or self._last.text in {"++", "--", ";", *_CLOSING}

    def _end_line(self, token: _Token) -> None:
        """Keep the end of the line before, unless the next token goes on."""
        if self._ends >= 0 and token.text not in _CLOSING and (self.is_python or token.text not in (".", "?.")):
            self.lines[self._ends].append("\n")
        self._ends = -1

    def _put(self, text: str) -> None:
        self.lines[-1].append(f"{text} ")

    def _put_string(self, text: str) -> None:
        """A string by digests, line for line, so that nothing in it is taken for code."""
        swapped = _SWAPPED.fullmatch(text)
        plain = text if swapped is None else swapped[2].join(['"' * len(swapped[1])] * 2)
        first, *more = plain.split("\n")
        self._put(f'"{_hash_tokens(first)}"')
        for each in more:
            self.lines.append([])
            self._put(f'"{_hash_tokens(each)}"')

    def _note(self, text: str) -> None:
        if text in _OPENING:
            is_name = self._last.kind == "word" and self._last.text not in _NO_CALLS
            follows = is_name or self._last.kind == "string" or self._last.text in _CLOSING
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
        if self._last.text != "," or self._before.text == "," or self._before.text in _OPENING:
            return
        is_free = not self.is_python or text == "}" or opened.follows is (text == ")")
        if is_free or opened.commas > 1:
            self.lines[self._at].pop()


def _hash_tokens(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:16]
