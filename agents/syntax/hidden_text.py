"""Finds added text that deceives who reads it: in code by the syntax tree, elsewhere line by line."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from ast_grep_py import SgNode, SgRoot
from pydantic import JsonValue

from agents.syntax.languages import DATA, find_language
from domain.paths import is_document
from domain.text.hidden_characters import (
    Deception,
    HiddenText,
    find_alike,
    find_hidden_message,
    find_invisible,
    find_turned,
    list_ascii_words,
)

_TEXT = re.compile(r"comment|string|char|text|heredoc|regex|template_literal|line_str|quasi|shebang")
_CODE_IN_TEXT = re.compile(r"^(interpolation|interpolated_expression|template_substitution|command_substitution)$")


def find_hidden_text(request: Any) -> JsonValue:
    """The places on added lines of a file where people read something else than machines.

    :param request: ``path``, ``text`` at head, and the numbers of ``added`` lines.
    """
    path, text = request["path"], request["text"]
    lines = text.split("\n")
    odd = [(number, lines[number - 1]) for number in request["added"] if not lines[number - 1].isascii()]
    return [
        {"line": number, "kind": found.kind.value, "codes": found.codes, "text": found.text}
        for number, found in _find(path, text, odd)
    ]


def _find(path: str, text: str, lines: Sequence[tuple[int, str]]) -> Iterator[tuple[int, HiddenText]]:
    language = find_language(path)
    if is_document(path):
        found = ((number, find_hidden_message(line)) for number, line in lines)
    elif language is None or language in DATA:
        found = ((number, _find_in_data(line)) for number, line in lines)
    else:
        code = _Code(text, language)
        found = ((number, code.find(number, line)) for number, line in lines)
    yield from ((number, each) for number, each in found if each is not None)


def _find_in_data(line: str) -> HiddenText | None:
    return find_turned(line, is_translation=True) or find_hidden_message(line)


class _Code:
    """A program, by its syntax tree; it is parsed when the first suspicion comes up."""

    def __init__(self, text: str, language: str) -> None:
        self._text, self._language = text, language
        self._root: SgNode | None = None
        self._words: frozenset[str] | None = None

    def find(self, number: int, line: str) -> HiddenText | None:
        """The first deception on a line."""
        if self._words is None:
            self._words = list_ascii_words(self._text)
        suspects = [*find_invisible(line), *find_alike(line, self._words)]
        shown = line.removeprefix("\ufeff") if number == 1 else line
        found = [each for each in suspects if each.column >= len(line) - len(shown) and self._is_harmful(number, each)]
        if turned := self._find_turned(number, line):
            found.append(turned)
        return min(found, key=lambda each: each.column, default=None)

    def _is_harmful(self, number: int, suspect: HiddenText) -> bool:
        if suspect.kind is Deception.invisible and suspect.is_message:
            return True
        return self._find_text(number, suspect.column) is None

    def _find_turned(self, number: int, line: str) -> HiddenText | None:
        """A control of direction in code, or one that does harm in its string or comment."""
        if find_turned(line) is None:
            return None
        at = 0
        while (found := find_turned(line[at:])) is not None:
            at += found.column
            node = self._find_text(number, at)
            if node is None:
                return HiddenText(Deception.direction, at, found.text)
            place = node.range()
            start = place.start.column if place.start.line == number - 1 else 0
            end = place.end.column if place.end.line == number - 1 else len(line)
            if inside := find_turned(line[start:end], within_token=True):
                return HiddenText(Deception.direction, start + inside.column, inside.text)
            at = end
        return None

    def _find_text(self, number: int, column: int) -> SgNode | None:
        """The string or comment that holds a place; None if it is code."""
        if self._root is None:
            self._root = SgRoot(self._text, self._language).root()
        found: SgNode | None = None
        for node in _walk_down(self._root, number - 1, column):
            if _CODE_IN_TEXT.match(node.kind()):
                found = None
            elif _TEXT.search(node.kind()) and found is None:
                found = node
        return found


def _walk_down(root: SgNode, line: int, column: int) -> Iterator[SgNode]:
    """The nodes that hold a place, from the root to the leaf."""
    here: list[SgNode] = [root]
    while here:
        node = here.pop()
        yield node
        here = [child for child in node.children() if _holds(child, line, column)][:1]


def _holds(node: SgNode, line: int, column: int) -> bool:
    place = node.range()
    return (place.start.line, place.start.column) <= (line, column) < (place.end.line, place.end.column)
