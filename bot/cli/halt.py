"""`forge halt` and `forge resume`: stop every process, and let all continue."""

from bot.cli.output import output
from bot.cli.run import operator_name
from bot.clock import SystemClock
from bot.current_database import open_database
from bot.settings import Installation
from memory.process import halts
from messages.halts import describe_halt


async def halt(settings: Installation, why: str) -> None:
    """Stop every process before its next model call and its next write to GitHub."""
    async with open_database(settings) as database:
        is_new = await halts.halt(database, why.strip(), operator_name(), SystemClock().now())
        held = await halts.get_current(database)
    if is_new:
        _print("Halted: Forge calls no model and writes nothing to GitHub until `forge resume`. It stores webhooks.")
    elif held is not None:
        _print(f"{describe_halt(held.since, held.why)} `forge resume` lets it continue.")


async def resume(settings: Installation) -> None:
    """Let everything continue that the halt stopped."""
    async with open_database(settings) as database:
        held = await halts.resume(database, operator_name(), SystemClock().now())
    _print("Forge is not halted; nothing to do." if held is None else "Resumed: the work continues within a second.")


def _print(text: str) -> None:
    with output() as console:
        console.print(text, markup=False, highlight=False, soft_wrap=True)
