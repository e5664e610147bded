"""The phrases that texts for people share: names, counts, moments and paragraphs."""

from collections.abc import Iterable
from datetime import UTC, datetime

MOST_NAMED = 10


def name_some(names: Iterable[str], most: int = MOST_NAMED) -> str:
    """The first of them, and how many more there are."""
    every = list(names)
    left = len(every) - most
    return ", ".join(every[:most]) + (f" and {left:,} more" if left > 0 else "")


def name_count(number: int, one: str, many: str = "") -> str:
    """A number with its noun, as ``1 test`` or ``1,200 tests``.

    :param many: the plural, where it is not made by an s.
    """
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def format_moment(moment: datetime) -> str:
    """To the minute, in UTC."""
    return moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")


def format_day(moment: datetime) -> str:
    """In UTC."""
    return moment.astimezone(UTC).strftime("%Y-%m-%d")


def join_paragraphs(parts: Iterable[str]) -> str:
    """Those that say something, as paragraphs."""
    return "\n\n".join(part for part in parts if part)
