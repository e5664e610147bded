"""Blanks what stands in string literals, so that rules about lines do not read a text as code."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate

from agents.syntax.trees import SyntaxNode

_BLANK = "\ue001"
"""Stands for a character of a literal; no expression of ours asks for it."""
_SHORTEST = 3  # characters of a literal, quotes included, that hold something
_LITERAL = re.compile(r"string|template|heredoc|regex|char_literal|rune_literal|symbol_array")
_CALL, _LINES = re.compile(r"[(\n]"), re.compile(r"\n")


@dataclass(frozen=True)
class MaskedText:
    """A text of which each version is as long and has as many lines; the quotes of its literals stay.

    :param spans: where the content of each literal begins and ends, in order.
    """

    text: str
    spans: tuple[tuple[int, int], ...] = ()

    @property
    def code(self) -> str:
        """The text with nothing in its literals."""
        return self._blank(re.compile(""))

    @property
    def with_names(self) -> str:
        """The text with only such literals as hold no call, and are no text of several lines."""
        return self._blank(_CALL)

    @property
    def with_words(self) -> str:
        """The text with only such literals as are of one line."""
        return self._blank(_LINES)

    def _blank(self, held: re.Pattern[str]) -> str:
        parts: list[str] = []
        at = 0
        for first, last in self.spans:
            inner = self.text[first:last]
            if held.search(inner):
                lines = inner.split("\n")
                parts += [self.text[at:first], "\n".join(_BLANK * len(line) for line in lines)]
                at = last
        return "".join((*parts, self.text[at:]))


def mask_literals(text: str, tree: SyntaxNode) -> MaskedText:
    """The text, and where its literals are.

    :param tree: what was parsed from the text, or from a rewriting of it that keeps its lines and literals.
    """
    return MaskedText(text, tuple(_find_spans(text, tree)))


def _find_spans(text: str, tree: SyntaxNode) -> Iterator[tuple[int, int]]:
    starts = [0, *accumulate(len(line) + 1 for line in text.split("\n"))]
    at = 0
    for node in tree.walk():
        if node.children or len(node.text) < _SHORTEST or not _LITERAL.search(node.kind):
            continue
        line = min(node.start, len(starts) - 1)
        begin = text.find(node.text, max(at, starts[line - 1]))
        if 0 <= begin < starts[line]:
            opening = _count_opening(node.text)
            at = begin + len(node.text)
            yield begin + opening, at - (opening > 0)


def _count_opening(literal: str) -> int:
    """How many characters precede the content of a literal; 0 if it has no quotes of one character."""
    opening = literal.find(literal[-1]) + 1 if literal[-1] in "\"'`/" else 0
    return opening if opening < len(literal) else 0
