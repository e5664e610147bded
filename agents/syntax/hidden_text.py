"""Finds added text that deceives who reads it: by the syntax tree, or by quotes and comments without a parser."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence, Set
from dataclasses import replace
from functools import cached_property

from ast_grep_py import SgNode, SgRoot

from agents.syntax.languages import DATA, find_language
from domain.paths import holds_prose, is_document, runs_as_text
from domain.text.hidden_characters import (
    FileWords,
    HiddenText,
    find_alike,
    find_control,
    find_false_host,
    find_hidden_message,
    find_invisible,
    find_line_end,
    find_turned,
    find_unseen,
    has_imitation,
    list_own_scripts,
    may_deceive,
    read_words,
)
from domain.text.places import (
    LinePart,
    PlaceKind,
    find_in_document_code,
    find_in_program,
    list_fenced_lines,
    list_places,
    list_script_lines,
)

_TEXT = re.compile(r"comment|string|char|text|heredoc|regex|template_literal|line_str|quasi|shebang")
_COMMENT, _PROSE = re.compile(r"comment|shebang"), re.compile(r"^(jsx_)?text$")
_BEGINS_PHP = re.compile(r"(?:#!.*\n)?\s*<\?php\b", re.IGNORECASE)
_TAKES_NAMES = re.compile(r"encapsed_string$|heredoc$")
_PUT_IN_BY_PHP = re.compile(
    r"(?<!\\)(?:\$\{?[^\W\d]\w*(?:(?:\?->|->|\[)\w*)*|\{\$(?:[^{}'\"]|'[^']*'|\"[^\"]*\")*[>$\w])$"
)
"""What PHP takes for a name within a string, up to a character that it takes for a part of it, too."""
_CODE_IN_TEXT = re.compile(r"^(interpolation|interpolated_expression|template_substitution|command_substitution)$")


def find_hidden_text(
    path: str, text: str, added: Sequence[int], *, is_whole: bool = True, others: Set[str] = frozenset()
) -> list[tuple[int, HiddenText]]:
    """The places on added lines of a file where people read something else than machines, with their lines.

    :param text: at head.
    :param added: the numbers of the lines.
    :param is_whole: of a large file the other lines are empty, so that it is not parsed.
    :param others: what the other files of the change have of the words that its words look like.
    """
    lines = text.split("\n")
    odd = [(n, lines[n - 1]) for n in added if n <= len(lines) and may_deceive(path, lines[n - 1])]
    language = _find_language(path, text) if is_whole else None
    if is_document(path):
        known, fenced = read_words(text), list_fenced_lines(text.split("\n"))
        found = (
            (
                number,
                find_hidden_message(line)
                or find_false_host(line)
                or find_in_document_code(line, known, is_fenced=number in fenced),
            )
            for number, line in odd
        )
    elif holds_prose(path):
        found = (
            (number, find_turned(line, is_translation=True) or find_hidden_message(line) or find_false_host(line))
            for number, line in odd
        )
    else:
        code = _Code(path, text, None if language in DATA else language, others)
        found = ((number, find_line_end(path, line) or code.find(number, line)) for number, line in odd)
    controls = {number: find_control(line) for number, line in odd}
    return [(number, each) for number, first in found if (each := first or controls[number]) is not None]


def _find_language(path: str, text: str) -> str | None:
    """The language of a file by its name; PHP, whose files have names of all kinds, by how they must begin."""
    is_php = not runs_as_text(path) and _BEGINS_PHP.match(text) is not None
    return find_language(path) or ("php" if is_php else None)


class _Code:
    """A program; it is parsed when the first suspicion comes up, if there is a parser."""

    def __init__(self, path: str, text: str, language: str | None, others: Set[str]) -> None:
        self._others, self._path, self._text, self._language = others, path, text, language
        self._root: SgNode | None = None
        self._lines = text.split("\n")
        self._is_program = language is not None or runs_as_text(path) or text.startswith("#!")
        self._scripts = list_script_lines(self._lines) if language is None else frozenset[int]()
        self._children: dict[tuple[int, int], tuple[Sequence[SgNode], Sequence[tuple[int, int]]]] = {}

    @cached_property
    def _words(self) -> FileWords:
        """What the file is written with; in comments and strings anybody can write anything."""
        read = read_words(self._text)
        rest, of_names = set(read.scripts), set[str]()
        for number, line in enumerate(self._lines if read.scripts and has_imitation(self._text) else (), 1):
            for at, script in list_own_scripts(line):
                if script in rest and self._find_part(number, line, at) is None:
                    rest.remove(script)
                    of_names.add(script)
        return replace(read, ascii=read.ascii | self._others, of_names=frozenset(of_names))

    def _find_part(self, number: int, line: str, column: int) -> LinePart | None:
        """The part of a line that is no code and holds a column, with a parser or without."""
        if self._language is not None:
            return self._find_place(number, line, column)
        places = list_places(self._path, line, is_script=number in self._scripts)
        return next((place for place in places if place.start <= column < place.end), None)

    def find(self, number: int, line: str) -> HiddenText | None:
        """The first deception on a line."""
        shown = line.removeprefix("\ufeff") if number == 1 else line
        cut = len(line) - len(shown)
        columns = [
            each.column
            for each in (*find_invisible(line), *find_alike(line, self._words), *self._find_unseen(line))
            if each.column >= cut
        ]
        if not columns and find_turned(line) is None:
            return find_false_host(line)
        if self._language is None:
            places = list_places(self._path, shown, is_script=number in self._scripts)
        else:
            at = [*columns, *(at for at, char in enumerate(line) if char in _DIRECTIONS)]
            found = {self._find_place(number, line, column) for column in at}
            places = sorted((place for place in found if place), key=lambda place: place.start)
            places = [LinePart(place.kind, max(place.start - cut, 0), place.end - cut) for place in places]
        return find_in_program(shown, self._words, places, [*self._find_unseen(shown)])

    def _find_unseen(self, line: str) -> Iterator[HiddenText]:
        """Only where comments and strings can be told from code."""
        if self._is_program:
            yield from find_unseen(self._path, line)

    def _find_place(self, number: int, line: str, column: int) -> LinePart | None:
        """The part of a string or comment on a line that holds a column; None if it is code."""
        if self._root is None:
            self._root = SgRoot(self._text, self._language or "").root()
        found: SgNode | None = None
        for node in self._walk_down(self._root, (number - 1, column)):
            if _CODE_IN_TEXT.match(node.kind()):
                found = None
            elif _TEXT.search(node.kind()) and found is None:
                found = node
        if found is None or (_TAKES_NAMES.match(found.kind()) and _PUT_IN_BY_PHP.search(line[:column])):
            return None
        where = found.range()
        start = where.start.column if where.start.line == number - 1 else 0
        end = where.end.column if where.end.line == number - 1 else len(line)
        return LinePart(_find_kind(found.kind()), start, end)

    def _walk_down(self, root: SgNode, place: tuple[int, int]) -> Iterator[SgNode]:
        """The nodes that hold a place, from the root to the leaf."""
        node: SgNode | None = root
        depth = 0
        while node is not None:
            yield node
            children, starts = self._list_children(node, depth)
            depth += 1
            before = bisect_right(starts, place)
            node = next((child for child in reversed(children[:before][-2:]) if _holds(child, place)), None)

    def _list_children(self, node: SgNode, depth: int) -> tuple[Sequence[SgNode], Sequence[tuple[int, int]]]:
        """The children with where they start, asked once: a file may have many suspect lines."""
        key = (depth, node.range().start.index)
        if key not in self._children:
            children = node.children()
            starts = [(place.start.line, place.start.column) for place in (child.range() for child in children)]
            self._children[key] = (children, starts)
        return self._children[key]


_DIRECTIONS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def _find_kind(node: str) -> PlaceKind:
    if _COMMENT.search(node):
        return PlaceKind.comment
    return PlaceKind.prose if _PROSE.match(node) else PlaceKind.string


def _holds(node: SgNode, place: tuple[int, int]) -> bool:
    end = node.range().end
    return place < (end.line, end.column)
