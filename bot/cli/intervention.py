"""The commands by which operators step in: repeat a delivery, stop everything, go on."""

from typing import Annotated

import typer

from bot.cli.output import print_lines
from bot.cli.process import command, operator_name
from bot.clock import SystemClock
from bot.current_database import open_database
from bot.settings import Installation
from domain.errors import ForgeError, UnknownName
from domain.value import new_id
from memory.db.engine import BUSY_SECONDS, sync_engine
from memory.deliveries import deliveries as stored
from memory.deliveries.deliveries import ReceivedDelivery
from memory.process import halts
from messages.deliveries import describe_halt
from pipeline.deliveries.intake import Intake
from pipeline.worker.queues import build_client

commands = typer.Typer(add_completion=False, rich_markup_mode=None)


@command(commands, "halt")
async def halt(
    settings: Installation, why: Annotated[str, typer.Argument(help="The reason; it is shown and recorded.")] = ""
) -> None:
    """Stop everything now: Forge calls no model and writes nothing to GitHub. It stores webhooks for later."""
    async with open_database(settings) as database:
        is_new = await halts.halt(database, why.strip(), operator_name(), SystemClock().now())
        held = await halts.get_current(database)
    if is_new:
        print_lines(
            "Halted: Forge calls no model and writes nothing to GitHub until `forge resume`. It stores webhooks."
        )
    elif held is not None:
        print_lines(f"{describe_halt(held.since, held.why)} `forge resume` lets it continue.")


@command(commands, "resume")
async def resume(settings: Installation) -> None:
    """Continue everything that `forge halt` stopped."""
    async with open_database(settings) as database:
        held = await halts.resume(database, operator_name(), SystemClock().now())
    done = "Forge is not halted; nothing to do." if held is None else "Resumed: the work continues within a second."
    print_lines(done)


@command(commands, "replay")
async def replay(
    settings: Installation, guid: Annotated[str, typer.Argument(help="The delivery's X-GitHub-Delivery header.")]
) -> None:
    """Repeat what a delivery asked for; posts nothing twice. `forge deliveries` counts it as a new one.

    :raises UnknownName: if there is no such delivery.
    :raises ForgeError: if it asked for nothing.
    """
    async with open_database(settings) as database:
        row = await stored.find(database, guid)
    if row is None:
        raise UnknownName(f"There is no delivery {guid}.", "GitHub's list of deliveries shows the GUIDs.")
    if row.command is None:
        raise ForgeError(f"Delivery {guid} was ignored ({row.reason}), so there is nothing to repeat.")
    again = stored.build_replay_guid(guid, new_id())
    await _accept(settings, ReceivedDelivery(again, row.event, row.action, SystemClock().now(), row.command, ""))
    print_lines(f"Queued again as {again}.")


async def _accept(settings: Installation, delivery: ReceivedDelivery) -> None:
    """Store a delivery and queue its work in one transaction, as the webhook endpoint does."""
    engine = sync_engine(settings.database_url)
    intake = Intake(engine, build_client(engine), BUSY_SECONDS)
    intake.start()
    try:
        await intake.accept(delivery)
    finally:
        await intake.stop()
        engine.dispose()
