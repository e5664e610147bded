"""Tells that two findings of a model mean the same although their anchors are some lines apart."""

import hashlib
import re
from collections.abc import Sequence
from typing import Self

from domain.text.similarity import SAME_THRESHOLD, Statement, extract_names, extract_stems
from domain.value import Value

AROUND = 2
"""Written lines on each side of the anchor that belong to a spot; further apart, two anchors are two matters."""
NEARBY_THRESHOLD = 0.4
"""From this share of their words on, what stands at nearly the same lines and names the same things is the same."""
_IN_COMMON = 3  # lines of two spots, so that one line which stands everywhere makes no spot the same
_WORD = re.compile(r"[A-Za-z_]\w*")


class Anchor(Value):
    """Where a finding is and what it is about, for comparing.

    :param lines: digests of the anchored line and of those around it that are not blank, in order.
    :param anchor: which of them is the anchored one.
    :param words: the stems of its message.
    :param names: what its message names of the code in these lines, or writes as code.
    """

    category: str
    lines: tuple[str, ...]
    anchor: int
    words: tuple[str, ...]
    names: tuple[str, ...]

    @classmethod
    def of(cls, category: str, message: str, lines: Sequence[str], line: int | None) -> Self | None:
        """The spot of a finding; None for one about a whole file or a blank line.

        :param lines: of the file.
        :param line: 1-based.
        """
        if line is None or not 0 < line <= len(lines) or not lines[line - 1].strip():
            return None
        before = [text for text in lines[: line - 1] if text.strip()][-AROUND:]
        after = [text for text in lines[line : line + 20] if text.strip()][:AROUND]
        around = [*before, lines[line - 1], *after]
        code = set(_WORD.findall("\n".join(around)))
        named = extract_names(message) | {word.casefold() for word in _WORD.findall(message) if word in code}
        return cls(
            category=category,
            lines=tuple(map(_digest, around)),
            anchor=len(before),
            words=tuple(sorted(extract_stems(message))),
            names=tuple(sorted(named)),
        )

    def matches(self, other: "Anchor") -> bool:
        """Whether both are about the same: each anchor stands among the other's lines, and they say alike things."""
        ours, theirs = set(self.lines), set(other.lines)
        is_near = self.lines[self.anchor] in theirs and other.lines[other.anchor] in ours
        enough = min(_IN_COMMON, len(ours), len(theirs))
        if self.category != other.category or not is_near or len(ours & theirs) < enough:
            return False
        one, two = self._statement, other._statement
        least = NEARBY_THRESHOLD if one.names & two.names else SAME_THRESHOLD
        return one.is_about(two) and one.similarity(two) >= least

    @property
    def _statement(self) -> Statement:
        return Statement(frozenset(self.words), frozenset(self.names), is_negative=False)


def _digest(text: str) -> str:
    return hashlib.sha256(" ".join(text.split()).encode("utf-8", "surrogateescape")).hexdigest()[:16]
