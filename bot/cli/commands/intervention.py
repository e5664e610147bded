"""The commands by which operators step in: repeat a delivery, stop everything, go on."""

from typing import Annotated

import typer

_PANEL = "Intervene"
commands = typer.Typer()


@commands.command(rich_help_panel=_PANEL)
def replay(guid: Annotated[str, typer.Argument(help="The delivery's X-GitHub-Delivery header.")]) -> None:
    """Repeat what a delivery asked for; posts nothing twice. `forge deliveries` counts it as a new one."""
    from bot.cli import runs as listing
    from bot.cli.run import run

    run(lambda settings: listing.replay(settings, guid))


@commands.command(rich_help_panel=_PANEL)
def halt(why: Annotated[str, typer.Argument(help="The reason; it is shown and recorded.")] = "") -> None:
    """Stop everything now: Forge calls no model and writes nothing to GitHub. It stores webhooks for later."""
    from bot.cli import halt as halting
    from bot.cli.run import run

    run(lambda settings: halting.halt(settings, why))


@commands.command(rich_help_panel=_PANEL)
def resume() -> None:
    """Continue everything that `forge halt` stopped."""
    from bot.cli import halt as halting
    from bot.cli.run import run

    run(halting.resume)
