"""What an examination found out about one part of an installation."""

from dataclasses import dataclass
from enum import Enum

from rich.console import Console
from rich.markup import escape

from domain.text.escaping import strip_invisible


class PartState(Enum):
    """How it is with a part."""

    well = "well"
    note = "note"  # Forge can work, but somebody should know of it
    broken = "broken"  # Forge cannot do its work until it is mended


_MARKS = {PartState.well: "[green]✓[/]", PartState.note: "[yellow]![/]", PartState.broken: "[red]✗[/]"}


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


def show(console: Console, diagnosis: Diagnosis) -> bool:
    """Print it, and answer whether Forge can work all the same."""
    console.print(
        f"{_MARKS[diagnosis.condition]} {diagnosis.part}: {escape(strip_invisible(diagnosis.state))}",
        soft_wrap=True,
        highlight=False,
    )
    if diagnosis.advice:
        console.print(f"    {escape(diagnosis.advice)}", soft_wrap=True, highlight=False)
    return diagnosis.condition is not PartState.broken
