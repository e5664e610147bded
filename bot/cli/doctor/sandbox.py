"""Checks which level of the sandbox works here, and which attacks it refuses."""

from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from bot.cli.doctor.diagnosis import Diagnosis, fail, ok, show
from domain.errors import ForgeError
from safety.containment import ADVICE as NO_SANDBOX
from safety.containment import CODE
from workspace.sandbox.probes import ATTACKS
from workspace.sandbox.probing import Wanted, probe, select_levels
from workspace.sandbox.sandbox import SandboxLevel

_OUTCOMES = {True: "refused", False: "[yellow]possible[/]", None: "not tried"}


async def show_sandbox(console: Console, user: str, wanted: Wanted, *, verbose: bool) -> bool:
    """Print the level in use, with ``verbose`` also each attack's result, and return whether Forge can work with it."""
    try:
        levels = await probe(user)
    except ForgeError as error:
        return show(console, fail("sandbox", error.message, error.advice))
    if verbose:
        console.print(_attack_table(levels))
    for level in levels:
        if not level.works and (verbose or level.level >= CODE):
            console.print(
                f"    level {level.level} ({level.name}) does not work: {escape(level.reason)}", soft_wrap=True
            )
    return show(console, _judge(levels, wanted, "" if verbose else " (--verbose names them)"))


async def check_sandbox(user: str, wanted: Wanted) -> Diagnosis:
    """Which level of the sandbox is used, and whether Forge can work with it."""
    try:
        return _judge(await probe(user), wanted, "")
    except ForgeError as error:
        return fail("sandbox", error.message, error.advice)


def _judge(levels: Sequence[SandboxLevel], wanted: Wanted, more: str) -> Diagnosis:
    try:
        best = max((level for level in select_levels(levels, wanted) if level.works), key=lambda level: level.level)
    except ForgeError as error:
        return fail("sandbox", error.message, error.advice or "See docs/security.md.")
    refused = sum(attack.refused is True for attack in best.attacks)
    state = f"level {best.level} ({best.name}) is used and refuses {refused} of {len(ATTACKS)} attacks{more}"
    if best.level < CODE:
        return fail("sandbox", f"{state}, so pull requests from forks are not checked", NO_SANDBOX)
    return ok("sandbox", state)


def _attack_table(levels: Sequence[SandboxLevel]) -> Table:
    table = Table("attack", *(f"{level.level} {level.name}" for level in levels), box=None, pad_edge=False)
    outcomes = [{attack.name: attack.refused for attack in level.attacks} for level in levels]
    for name in ATTACKS:
        table.add_row(name, *(_OUTCOMES[outcome.get(name)] for outcome in outcomes))
    return table
