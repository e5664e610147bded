"""Drops from a command what the runner that is installed does not take, so that it runs without."""

from collections.abc import Sequence

from agents.testing.runners.node import drop_unknown
from agents.testing.runners.python import drop_measuring
from agents.testing.runners.scripts import drop_measuring_of_ruby


def drop_refused(words: Sequence[str], printed: bytes) -> tuple[str, ...]:
    """The words of a failed command without what it refused, as far as it said so; else none."""
    drops = (drop_measuring, drop_measuring_of_ruby, drop_unknown)
    return next((left for drop in drops if (left := drop(words, printed))), ())
