"""`forge halt` and `forge resume`: the operator's stop, which every process heeds."""

import getpass

from bot.cli.database import opened
from bot.cli.output import output
from bot.clock import SystemClock
from bot.settings import Installation
from domain.text.escaping import visible
from memory.process import halts
from memory.process.halts import Halt


async def halt(settings: Installation, why: str) -> None:
    """Stop every process before its next call of a model and its next write to GitHub."""
    async with opened(settings) as database:
        is_new = await halts.halt(database, why.strip(), operator(), SystemClock().now())
        held = await halts.current(database)
    if is_new:
        _say("Halted: no model is called and nothing is written to GitHub until `forge resume`. Webhooks are kept.")
    elif held is not None:
        _say(f"{shown(held)} `forge resume` lets it go on.")


async def resume(settings: Installation) -> None:
    """Let everything go on that waits for this."""
    async with opened(settings) as database:
        held = await halts.resume(database, operator(), SystemClock().now())
    _say("Forge is not halted; nothing to do." if held is None else "Resumed: what waited goes on within a second.")


def shown(held: Halt) -> str:
    """Since when Forge is halted and why, in one line."""
    why = " ".join(visible(held.why).split())
    return f"Forge is halted since {held.since:%Y-%m-%d %H:%M:%S} UTC{f': {why}' if why else ''}."


def operator() -> str:
    """The account on this machine that runs the command; empty where it has no name, as in some containers."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return ""


def _say(text: str) -> None:
    with output() as console:
        console.print(text, markup=False, highlight=False, soft_wrap=True)
