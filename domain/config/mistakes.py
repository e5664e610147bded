"""A mistake in a configuration file: its place, what is wrong, and what would be right."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from domain.text.escaping import escape

MAX_MISTAKES = 20
"""The most mistakes reported for one file."""


@dataclass(frozen=True, order=True)
class Mistake:
    """A mistake at a place in the file.

    :param line: 1-based, as GitHub counts them.
    :param column: 1-based, in characters.
    :param path: the keys that lead there, such as ``review.linters[0].run``; empty for the file itself.
    :param what: completes a sentence after the path, without full stop: ``is not a key here``.
    :param allowed: what is allowed there, in a few words; may be empty.
    :param nearest: the closest valid key or value.
    """

    line: int
    column: int
    path: str
    what: str
    allowed: str = ""
    nearest: str = ""

    @property
    def brief(self) -> str:
        """The mistake and a suggestion, as Markdown."""
        subject = f"`{_flat(self.path)}`" if self.path else "The file"
        guess = f" Did you mean `{self.nearest}`?" if self.nearest else ""
        return f"{subject} {self.what}.{guess}"

    @property
    def sentence(self) -> str:
        """The whole sentence, as Markdown."""
        return self.brief + (f" Allowed: {self.allowed}." if self.allowed else "")


class Contradiction(NamedTuple):
    """A mistake that no single value shows, or a key without effect; its place in the file is not known yet.

    :param path: the keys that lead to the place, list positions included.
    :param nearest: the closest valid key or value.
    """

    path: tuple[str | int, ...]
    what: str
    allowed: str
    nearest: str = ""


def count_in_words(mistakes: Sequence[Mistake]) -> str:
    """How many there are, in words."""
    count = len(mistakes)
    return f"{count} or more mistakes" if count >= MAX_MISTAKES else "1 mistake" if count == 1 else f"{count} mistakes"


def render_table(mistakes: Sequence[Mistake]) -> str:
    """Each with its line, as Markdown."""
    rows = [f"| {mistake.line} | {escape(mistake.sentence)} |" for mistake in mistakes]
    return "\n".join(["| line | what is wrong |", "| --- | --- |", *rows])


def to_dotted_path(place: tuple[str | int, ...]) -> str:
    """A place as people write it: ``review.linters[0].run``."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in place).removeprefix(".")


def _flat(text: str) -> str:
    """Text that stays within its inline code."""
    return " ".join(text.split()).replace("`", "'")
