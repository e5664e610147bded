"""Checks everything that Forge needs, and says of each part how it is: ``forge doctor`` and the set-up show it."""

from dataclasses import dataclass
from enum import Enum


class PartState(Enum):
    well = "well"
    note = "note"  # Forge can work, but somebody should look at it
    broken = "broken"  # Forge cannot work until it is fixed


@dataclass(frozen=True)
class Diagnosis:
    """The result of checking one part.

    :param state: what was found, as text for people.
    :param advice: what people can do about it; may be empty.
    """

    part: str
    condition: PartState
    state: str
    advice: str = ""


def ok(part: str, state: str) -> Diagnosis:
    """The part works."""
    return Diagnosis(part, PartState.well, state)


def warn(part: str, state: str, advice: str) -> Diagnosis:
    """Forge can work, but somebody should look at it."""
    return Diagnosis(part, PartState.note, state, advice)


def fail(part: str, state: str, advice: str) -> Diagnosis:
    """Forge cannot work until it is fixed."""
    return Diagnosis(part, PartState.broken, state, advice)
