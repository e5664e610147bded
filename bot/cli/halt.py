"""`forge halt` and `forge resume`: the operator's stop, which every process heeds."""

from bot.cli.output import output
from bot.cli.run import open_database, operator_name
from bot.clock import SystemClock
from bot.settings import Installation
from domain.text.escaping import strip_invisible
from memory.process import halts
from memory.process.halts import Halt


async def halt(settings: Installation, why: str) -> None:
    """Stop every process before its next call of a model and its next write to GitHub."""
    async with open_database(settings) as database:
        is_new = await halts.halt(database, why.strip(), operator_name(), SystemClock().now())
        held = await halts.get_current(database)
    if is_new:
        _print("Halted: no model is called and nothing is written to GitHub until `forge resume`. Webhooks are kept.")
    elif held is not None:
        _print(f"{describe_halt(held)} `forge resume` lets it go on.")


async def resume(settings: Installation) -> None:
    """Let everything go on that waits for this."""
    async with open_database(settings) as database:
        held = await halts.resume(database, operator_name(), SystemClock().now())
    _print("Forge is not halted; nothing to do." if held is None else "Resumed: what waited goes on within a second.")


def describe_halt(held: Halt) -> str:
    """Since when Forge is halted and why, in one line."""
    why = " ".join(strip_invisible(held.why).split())
    return f"Forge is halted since {held.since:%Y-%m-%d %H:%M:%S} UTC{f': {why}' if why else ''}."


def _print(text: str) -> None:
    with output() as console:
        console.print(text, markup=False, highlight=False, soft_wrap=True)
