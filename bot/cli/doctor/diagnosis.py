"""What an examination found out about one part of an installation."""

from dataclasses import dataclass
from enum import Enum


class Condition(Enum):
    """How it is with a part."""

    well = "well"
    note = "note"  # Forge can work, but somebody should know of it
    broken = "broken"  # Forge cannot do its work until it is mended


@dataclass(frozen=True)
class Finding:
    """What was found out about one part.

    :param state: what is so, for a person.
    :param advice: what that person can do about it, if anything.
    """

    part: str
    condition: Condition
    state: str
    advice: str = ""


def well(part: str, state: str) -> Finding:
    """Nothing is to be done."""
    return Finding(part, Condition.well, state)


def note(part: str, state: str, advice: str) -> Finding:
    """Forge can work, but somebody should know of it."""
    return Finding(part, Condition.note, state, advice)


def broken(part: str, state: str, advice: str) -> Finding:
    """Forge cannot do its work until it is mended."""
    return Finding(part, Condition.broken, state, advice)
