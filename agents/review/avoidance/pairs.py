"""The facts of one changed file, before and after, and what people asked for."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from agents.review.avoidance.facts import SourceFacts

NOTHING = SourceFacts(is_test=False)
_REMOVES = re.compile(
    r"\b(remov\w*|drop\w*|delet\w*|deprecat\w*|retir\w*|get rid|no longer|obsolete|unused|withdraw\w*|discontinu\w*|"
    r"eliminat\w*|strip\w*|without|stop\w*|disabl\w*|skip\w*|replac\w*|superseded?|rid of)\b",
    re.IGNORECASE,
)
_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_COMMON = frozenset(
    [
        "test",
        "tests",
        "should",
        "the",
        "and",
        "for",
        "with",
        "from",
        "when",
        "not",
        "has",
        "get",
        "set",
        "add",
        "new",
        "is",
        "are",
        "can",
        "of",
        "to",
        "in",
        "it",
        "on",
    ]
)


@dataclass(frozen=True)
class ChangedFacts:
    """One changed file.

    :param path: at head; of a deleted file, where it was.
    :param before: None: the file is new.
    :param after: None: it is gone.
    """

    path: str
    before: SourceFacts | None
    after: SourceFacts | None

    @property
    def old(self) -> SourceFacts:
        return self.before or NOTHING

    @property
    def new(self) -> SourceFacts:
        return self.after or NOTHING

    @property
    def is_test(self) -> bool:
        return (self.after or self.old).is_test

    @property
    def is_gone(self) -> bool:
        return self.after is None


def is_removal_asked(asked: str, *names: str) -> bool:
    """Whether people asked for the removal of something with one of these names."""
    if not _REMOVES.search(asked):
        return False
    words = {word.lower() for word in _PARTS.findall(asked)}
    for name in names:
        if name and re.search(rf"(?<!\w){re.escape(name.strip('-'))}(?!\w)", asked, re.IGNORECASE):
            return True
        parts = [part.lower() for part in _PARTS.findall(name) if part.lower() not in _COMMON]
        if parts and sum(_is_known(part, words) for part in parts) >= max(1, len(parts) * 0.6):
            return True
    return False


def is_mentioned(asked: str, values: Iterable[str]) -> bool:
    """Whether people named one of these values."""
    bare = (value.strip("\"'`") for value in values)
    return any(len(value) > 0 and re.search(rf"(?<![\w.]){re.escape(value)}(?!\w)", asked) for value in bare)


def _is_known(part: str, words: set[str]) -> bool:
    return part in words or part.removesuffix("s") in words or f"{part}s" in words or f"{part}ed" in words
