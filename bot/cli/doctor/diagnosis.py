"""What an examination found out about one part of an installation."""

from dataclasses import dataclass
from enum import Enum


class PartState(Enum):
    """How it is with a part."""

    well = "well"
    note = "note"  # Forge can work, but somebody should know of it
    broken = "broken"  # Forge cannot do its work until it is mended


@dataclass(frozen=True)
class Diagnosis:
    """What was found out about one part.

    :param state: what is so, for a person.
    :param advice: what that person can do about it, if anything.
    """

    part: str
    condition: PartState
    state: str
    advice: str = ""


def ok(part: str, state: str) -> Diagnosis:
    """Nothing is to be done."""
    return Diagnosis(part, PartState.well, state)


def warn(part: str, state: str, advice: str) -> Diagnosis:
    """Forge can work, but somebody should know of it."""
    return Diagnosis(part, PartState.note, state, advice)


def fail(part: str, state: str, advice: str) -> Diagnosis:
    """Forge cannot do its work until it is mended."""
    return Diagnosis(part, PartState.broken, state, advice)
