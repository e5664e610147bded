"""Compares short texts by word stems and names."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Self

SAME_THRESHOLD = 0.6
"""The similarity from which two texts about the same names say the same."""
OPPOSITE_THRESHOLD = 0.8
"""The similarity from which two texts with opposite negation contradict each other."""

_TOKEN = re.compile(r"[\w./@:+#*'’-]*\w")
_QUOTED = re.compile(r"`([^`\n]+)`")
_CAMEL = re.compile(r"[a-z][A-Z]|[A-Z]{2}[a-z]")
_MIXED = re.compile(r"[A-Za-z]+-?\d")
_DOTTED = re.compile(r"\w\.[A-Za-z]\w")
_ENDS = ("ingly", "edly", "ing", "ied", "ies", "ed", "es", "ly", "s")
_SHORTEST = 2  # least length of a stem
_NEGATIONS = frozenset(
    re.findall(r"\w+", "never not no without avoid cannot dont doesnt isnt arent shouldnt mustnt wont cant nobody")
)
_AFFIRMATIONS = frozenset(re.findall(r"\w+", "always must should shall ought have has need needs do does"))
_STOP = frozenset(
    re.findall(
        r"\w+",
        "a an and are as at be been but by for from had here in into is it its of on or so such than that the their "
        "them then there these they this those to too was were which while who will with would you your",
    )
)
_SILENT = _STOP | _NEGATIONS | _AFFIRMATIONS


def extract_names(text: str) -> frozenset[str]:
    """Extracts paths, identifiers, rules and commands, in lower case.

    These are quoted code, and words with an inner slash, underscore, dot, capital
    or digit, or a leading dash.
    """
    quoted = [word for part in _QUOTED.findall(text) for word in part.split()]
    plain = [token for token in _tokens(text) if _is_name(token)]
    return frozenset(stripped for word in (*quoted, *plain) if len(stripped := _strip_punctuation(word)) >= _SHORTEST)


def extract_stems(text: str) -> frozenset[str]:
    """Extracts word stems, without stop words and negations."""
    return frozenset(_stems(text))


def is_negative(text: str) -> bool:
    """Whether a text contains a negation."""
    return any(_bare(token) in _NEGATIONS or token.lower().endswith(("n't", "n’t")) for token in _tokens(text))


@dataclass(frozen=True)
class Statement:
    """The comparable form of a text: stems, names and negation."""

    stems: frozenset[str]
    names: frozenset[str]
    is_negative: bool

    @classmethod
    def of(cls, text: str) -> Self:
        return cls(extract_stems(text), extract_names(text), is_negative(text))

    def similarity(self, other: "Statement") -> float:
        """The share of common words, from 0 to 1."""
        together = self.stems | other.stems
        return len(self.stems & other.stems) / len(together) if together else 0.0

    def agrees_with(self, other: "Statement") -> bool:
        """Whether both say the same."""
        return (
            self.is_negative == other.is_negative and self.is_about(other) and self.similarity(other) >= SAME_THRESHOLD
        )

    def contradicts(self, other: "Statement") -> bool:
        """Whether both differ only by a negation."""
        return (
            self.is_negative != other.is_negative
            and self.is_about(other)
            and self.similarity(other) >= OPPOSITE_THRESHOLD
        )

    def is_about(self, other: "Statement") -> bool:
        """Whether the names of one are among those of the other."""
        return self.names <= other.names or other.names <= self.names


_RUN = 4  # words


def measure_copying(text: str, source: str) -> float:
    """The share of a text's word runs that also occur in its source; a shorter text is one run."""
    words = _words(text)
    length = min(_RUN, len(words))
    runs = list(_runs(words, length)) if words else []
    known = set(_runs(_words(source), length))
    return sum(run in known for run in runs) / len(runs) if runs else 0.0


def _tokens(text: str) -> list[str]:
    return _TOKEN.findall(text)


def _is_name(token: str) -> bool:
    if any(mark in token for mark in ("/", "_", "::")) or token.startswith("--"):
        return True
    return any(shape.search(token) is not None for shape in (_CAMEL, _MIXED, _DOTTED))


def _strip_punctuation(word: str) -> str:
    return word.strip(".,:;!?()[]{}'\"*’").casefold()


def _bare(token: str) -> str:
    return token.lower().replace("'", "").replace("’", "")


def _stems(text: str) -> Iterator[str]:
    for token in _tokens(text):
        word = _bare(token).strip(".:-+#*@/")
        if _is_name(token):
            yield _strip_punctuation(token)
        elif word and word not in _SILENT:
            yield _stem(word)


def _stem(word: str) -> str:
    end = next((end for end in _ENDS if word.endswith(end) and len(word) - len(end) >= _SHORTEST), "")
    if not (end == "s" and word.endswith("ss")):
        word = word.removesuffix(end) if end else word
    word = word.removesuffix("e") if len(word) > _SHORTEST else word
    return word[:-1] if len(word) > _SHORTEST and word[-1] == word[-2] else word


def _words(text: str) -> Sequence[str]:
    return [_strip_punctuation(token) for token in _tokens(text)]


def _runs(words: Sequence[str], length: int) -> Iterable[tuple[str, ...]]:
    return (tuple(words[start : start + length]) for start in range(len(words) - length + 1)) if length else ()
