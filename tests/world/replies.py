"""Shows what Forge said as a snapshot can hold it: what differs from run to run is masked."""

import re
from collections.abc import Iterable
from typing import Protocol

from domain.text.escaping import cut_text

_MASKS = (
    (re.compile(r"<!--.*?-->", re.DOTALL), ""),
    (re.compile(r"https?://127\.0\.0\.1:\d+"), "https://github.test"),
    (re.compile(r"\b[0-7][0-9A-HJKMNP-TV-Z]{25}\b"), "ULID"),
    (re.compile(r"\b([GMC])-[0-9A-HJKMNP-TV-Z]{6}\b"), r"\1-ID"),
    (re.compile(r"\b(?=[a-f]*\d)[0-9a-f]{7,40}\b|(?<=`)[a-f]{7}(?=`)"), "SHA"),  # a word outside of code is none
    (re.compile(r"\b\d{4}-\d\d-\d\d[ T]\d\d:\d\d(?::\d\d)?(?: UTC|Z)?"), "TIME"),
    (re.compile(r"\b\d{9,}\b"), "ID"),
)
_WIDTH = 80


class Said(Protocol):
    """A comment or a review."""

    body: str


def bodies(said: Iterable[Said]) -> list[str]:
    """Whole texts, masked."""
    return [mask(each.body) for each in said]


def first_lines(said: Iterable[Said]) -> list[str]:
    """The first line of each text, masked, in at most 80 characters: enough where another story holds the whole."""
    return [cut_text(text.partition("\n")[0], _WIDTH) for text in bodies(said)]


def mask(text: str) -> str:
    """A text without what differs from run to run: ids, commits, moments, ports and hidden markers."""
    for pattern, name in _MASKS:
        text = pattern.sub(name, text)
    return text.strip()
