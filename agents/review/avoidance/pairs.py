"""The facts of one changed file, before and after, and what people asked for."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from agents.review.avoidance.facts import SourceFacts

NOTHING = SourceFacts(is_test=False)
_NO_SYNTAX = {"tests": (), "rows": (), "functions": (), "options": (), "environment": (), "left_out": (), "tables": ()}
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")
_REMOVE = re.compile(
    r"\b([Rr]emove|[Rr]emoval of|[Dd]rop|[Dd]elete|[Rr]etire|[Dd]iscontinue|[Gg]et rid of|[Tt]ake out|[Ww]ithdraw|"
    r"[Ee]liminate)\b"
)
_IS_REMOVED = re.compile(
    r"\b(be|is|are|was|were|been) (removed|dropped|deleted|retired|discontinued|obsolete|unused)\b|"
    r"\b((can|should|must|may|shall) go|(has|have|is|are|ought) to go)\b"
    r"(?= (too|away|now|as well|entirely)\b|\W*$|[,;:)])",
    re.IGNORECASE,
)
_IS_USELESS = re.compile(
    r"\b(not|no longer|never|nowhere) (needed|used|supported|wanted)\b|\bnobody uses\b|\bgoes away\b", re.IGNORECASE
)
_KEEP = re.compile(r"\b(not|never|nor|keep|stays?|still)\b|n't\b", re.IGNORECASE)
"""What a sentence says that asks for the contrary, however it goes on."""
_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_COMMON_WORDS = "test tests should the and for with from when not has get set add new is are can of to in it on"
_COMMON = frozenset(_COMMON_WORDS.split())
"""Words of many names, which tell none of them from another."""


@dataclass(frozen=True)
class ChangedFacts:
    """One changed file.

    :param path: at head; of a deleted file, where it was.
    :param before: None: the file is new.
    :param after: None: it is gone.
    :param before_path: where it was before, if it was moved.
    """

    path: str
    before: SourceFacts | None
    after: SourceFacts | None
    before_path: str = ""

    @cached_property
    def old(self) -> SourceFacts:
        return self._select(self.before)

    @cached_property
    def new(self) -> SourceFacts:
        return self._select(self.after)

    def _select(self, side: SourceFacts | None) -> SourceFacts:
        """A side; only what its lines tell if the syntax of the other could not be read."""
        is_comparable = all(each.is_read for each in (self.before, self.after) if each is not None)
        return NOTHING if side is None else side if is_comparable else side.model_copy(update=_NO_SYNTAX)

    @property
    def is_unread(self) -> bool:
        """Whether tests, or what should hold some, could not be compared."""
        sides = [each for each in (self.before, self.after) if each is not None]
        return any(each.is_test for each in sides) and not all(each.is_read for each in sides)

    @property
    def is_test(self) -> bool:
        return (self.after or self.old).is_test

    @property
    def is_gone(self) -> bool:
        return self.after is None


def is_removal_asked(asked: str, *names: str) -> bool:
    """Whether people asked for the removal of something with one of these names, in one sentence."""
    return any(
        _is_named(name, sentence.partition(begin[0])[2] if (begin := _REMOVE.search(sentence)) else sentence)
        for sentence in _SENTENCE.split(asked)
        if _asks_for_removal(sentence)
        for name in names
        if name
    )


def _asks_for_removal(sentence: str) -> bool:
    rest = _IS_USELESS.sub("", sentence)
    is_said = rest != sentence or _REMOVE.search(rest) is not None or _IS_REMOVED.search(rest) is not None
    return is_said and not _KEEP.search(rest)


def _is_named(name: str, sentence: str) -> bool:
    """Whether a sentence names something, as it is written or by all the words that it is made of."""
    if re.search(rf"(?<!\w){re.escape(name.strip('-'))}(?!\w)", sentence, re.IGNORECASE):
        return True
    words = {word.lower() for word in _PARTS.findall(sentence)}
    parts = [part.lower() for part in _PARTS.findall(name) if part.lower() not in _COMMON]
    return bool(parts) and all(_is_known(part, words) for part in parts)


def is_mentioned(asked: str, values: Iterable[str]) -> bool:
    """Whether people named one of these values."""
    bare = (value.strip("\"'`") for value in values)
    return any(len(value) > 0 and re.search(rf"(?<![\w.]){re.escape(value)}(?!\w|\.\d)", asked) for value in bare)


def _is_known(part: str, words: set[str]) -> bool:
    return part in words or part.removesuffix("s") in words or f"{part}s" in words or f"{part}ed" in words
