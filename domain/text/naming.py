"""Names a few of many things in a sentence."""

from collections.abc import Iterable

MOST_NAMED = 10


def name_some(names: Iterable[str], most: int = MOST_NAMED) -> str:
    """The first of them, and how many more there are."""
    every = list(names)
    left = len(every) - most
    return ", ".join(every[:most]) + (f" and {left:,} more" if left > 0 else "")
