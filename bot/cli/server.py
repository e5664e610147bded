"""The commands that run Forge, and those before its first start: set-up, migration, examination."""

import asyncio
from typing import Annotated

import typer
from rich.console import Console

from bot import interrupts

commands = typer.Typer(add_completion=False, rich_markup_mode=None)


@commands.command()
def serve() -> None:
    """Accept webhooks and do the work. Without a GitHub App, first show a page that sets one up, as `setup` does."""
    from bot.cli.process import announce_start, run
    from bot.settings import Installation, Settings, lacks_app

    announce_start(Installation if lacks_app() else Settings)
    from bot.cli import serve as serving
    from bot.cli import setup as first_run
    from bot.listener import HeldPort

    held = HeldPort()
    if first_run.complete(held):
        run(Settings, lambda settings: serving.serve(settings, held))


@commands.command()
def setup(
    manual: Annotated[bool, typer.Option("--manual", help="Say how to create the GitHub App by hand.")] = False,
    rotate: Annotated[
        bool, typer.Option("--rotate-key", help="Encrypt what is stored with a new key (FORGE_CREDENTIALS_KEY_PATH).")
    ] = False,
    stored: Annotated[
        str | None,
        typer.Option("--store", metavar="NAME", help="Store a setting, its value from standard input; empty: remove."),
    ] = None,
) -> None:
    """Set Forge up in a browser: register the GitHub App, check a model's key, and everything else."""
    from bot.cli import setup as first_run

    if sum((manual, rotate, stored is not None)) > 1:
        raise typer.BadParameter("Choose one of --manual, --rotate-key and --store.")
    if manual:
        first_run.print_manual()
    elif rotate:
        first_run.rotate_key()
    elif stored is not None:
        first_run.store(stored)
    else:
        first_run.run_alone()


@commands.command()
def worker() -> None:
    """Do work only, without webhooks, beside other processes on the same database. Serves health and metrics, too."""
    from bot.cli.process import announce_start, run
    from bot.settings import Settings

    announce_start(Settings)
    from bot.cli import serve as serving

    run(Settings, serving.work)


@commands.command()
def door() -> None:
    """Take webhooks only, and store them for the workers. Needs the App's secret, not its key. Serves health, too."""
    from bot.cli.process import announce_start, run
    from bot.settings import DoorSettings

    announce_start(DoorSettings)
    from bot.doors import take_webhooks

    run(DoorSettings, take_webhooks)


@commands.command()
def migrate() -> None:
    """Migrate the database to this version's schema. `serve` and `worker` do so when they start."""
    from bot.cli import runs as listing
    from bot.cli.process import run
    from bot.settings import Installation

    run(Installation, listing.migrate)


@commands.command()
def doctor(
    ask: Annotated[bool, typer.Option("--ask", help="Also ask the models, for a few tokens.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", help="List the attacks on the sandbox.")] = False,
) -> None:
    """Check settings, database, GitHub, webhook, models, clock, tools and sandbox.

    Exit codes: 0 Forge can work here, 1 it cannot because of what is marked ✗.
    """
    from bot.cli import doctor as examination
    from bot.logging import configure

    configure("console", level=40)
    interrupts.raise_again()
    healthy = asyncio.run(examination.examine(Console(), ask=ask, verbose=verbose))
    raise typer.Exit(0 if healthy else 1)
