"""The result of checking one part of an installation."""

from dataclasses import dataclass
from enum import Enum

from rich.console import Console
from rich.markup import escape

from domain.text.escaping import strip_invisible


class PartState(Enum):
    """The state of a part."""

    well = "well"
    note = "note"  # Forge can work, but somebody should look at it
    broken = "broken"  # Forge cannot work until it is fixed


_MARKS = {PartState.well: "[green]✓[/]", PartState.note: "[yellow]![/]", PartState.broken: "[red]✗[/]"}


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


def show(console: Console, diagnosis: Diagnosis) -> bool:
    """Print a diagnosis, and return whether Forge can work with it."""
    console.print(
        f"{_MARKS[diagnosis.condition]} {diagnosis.part}: {escape(strip_invisible(diagnosis.state))}",
        soft_wrap=True,
        highlight=False,
    )
    if diagnosis.advice:
        console.print(f"    {escape(diagnosis.advice)}", soft_wrap=True, highlight=False)
    return diagnosis.condition is not PartState.broken
