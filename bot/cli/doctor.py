"""`forge doctor`: prints what is found of each part as soon as it is known."""

from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from bot.doctor import Diagnosis, PartState, fail
from bot.doctor.doctor import diagnose
from bot.doctor.machine import judge_levels
from bot.settings import Settings, load
from domain.errors import ForgeError
from domain.text.escaping import strip_invisible
from safety.containment import CODE
from workspace.sandbox.probes import ATTACKS
from workspace.sandbox.probing import Wanted, probe
from workspace.sandbox.sandbox import SandboxLevel

_MARKS = {PartState.well: "[green]✓[/]", PartState.note: "[yellow]![/]", PartState.broken: "[red]✗[/]"}
_OUTCOMES = {True: "refused", False: "[yellow]possible[/]", None: "not tried"}


async def examine(console: Console, *, ask: bool = False, verbose: bool = False) -> bool:
    """Check everything, print each result as soon as it is known, and return whether Forge can work here.

    :param ask: spend a few tokens to see whether the models answer.
    :param verbose: show the result of each attack on the sandbox.
    """
    healthy = True
    async for finding in diagnose(ask=ask):
        healthy = _show(console, finding) and healthy
    try:
        settings = load(Settings)
        user, wanted = settings.sandbox_user, settings.sandbox
    except ForgeError:
        user, wanted = "nobody", "auto"
    return await _show_sandbox(console, user, wanted, verbose=verbose) and healthy


def _show(console: Console, diagnosis: Diagnosis) -> bool:
    """Print a diagnosis, and return whether Forge can work with it."""
    console.print(
        f"{_MARKS[diagnosis.condition]} {diagnosis.part}: {escape(strip_invisible(diagnosis.state))}",
        soft_wrap=True,
        highlight=False,
    )
    if diagnosis.advice:
        console.print(f"    {escape(diagnosis.advice)}", soft_wrap=True, highlight=False)
    return diagnosis.condition is not PartState.broken


async def _show_sandbox(console: Console, user: str, wanted: Wanted, *, verbose: bool) -> bool:
    """Print the level in use, with ``verbose`` also each attack's result, and return whether Forge can work with it."""
    try:
        levels = await probe(user)
    except ForgeError as error:
        return _show(console, fail("sandbox", error.message, error.advice))
    if verbose:
        console.print(_attack_table(levels))
    for level in levels:
        if not level.works and (verbose or level.level >= CODE):
            console.print(
                f"    level {level.level} ({level.name}) does not work: {escape(level.reason)}", soft_wrap=True
            )
    return _show(console, judge_levels(levels, wanted, "" if verbose else " (--verbose names them)"))


def _attack_table(levels: Sequence[SandboxLevel]) -> Table:
    table = Table("attack", *(f"{level.level} {level.name}" for level in levels), box=None, pad_edge=False)
    outcomes = [{attack.name: attack.refused for attack in level.attacks} for level in levels]
    for name in ATTACKS:
        table.add_row(name, *(_OUTCOMES[outcome.get(name)] for outcome in outcomes))
    return table
