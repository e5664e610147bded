"""The command line for operators and developers. People decide on GitHub, never here.

Each command imports what it needs itself, so that `forge review` and `forge config check`, which people run before
every commit, start without the server.
"""

import importlib
import sys
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from typer.core import TyperGroup

from bot.cli.commands import inspection, intervention, local, server
from bot.cli.output import guard_output, output
from bot.version import VERSION
from domain.errors import ForgeError, UnknownName


class _Forge(TyperGroup):
    """The commands; imports some groups only when they are called, and strips pydantic's prefix from typer's errors."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, command, rest = super().resolve_command(ctx, args)
        if name in _LATE:
            command = typer.main.get_command(importlib.import_module(f"bot.cli.{name}").commands)
            command.name = name
        return name, command, rest

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            error.message = error.message.removeprefix("Value error, ")
            raise


_LATE = {
    "memory": "Show, add, edit, archive, export and import memories.",
    "feedback": "What monitoring reports of production.",
}
"""Groups in modules of their own, which are imported when one is called, and what the help says of each."""
cli = typer.Typer(cls=_Forge, no_args_is_help=True)
for _commands in (server.commands, inspection.commands, intervention.commands, local.commands):
    cli.add_typer(_commands)
for _name, _help in _LATE.items():
    cli.add_typer(typer.Typer(), name=_name, help=_help, rich_help_panel=inspection.PANEL)
errors = Console(stderr=True)


def main() -> None:
    """Run the command; an error becomes one message and exit code 2, or 1 if something named does not exist."""
    try:
        with guard_output():
            cli()
    except ForgeError as error:
        from domain.text.escaping import strip_invisible

        errors.print(f"[bold red]forge:[/] {escape(strip_invisible(str(error)))}", highlight=False, soft_wrap=True)
        sys.exit(1 if isinstance(error, UnknownName) else 2)
    except Exception as error:
        from bot.logging import print_uncaught

        print_uncaught(type(error), error, error.__traceback__)
        errors.print("[bold red]forge:[/] Forge made a mistake of its own; please report it with the lines above.")
        sys.exit(2)


def _version(wanted: bool) -> None:
    if wanted:
        with output() as console:
            console.out(f"forge {VERSION}", highlight=False)
        raise typer.Exit


@cli.callback(help="Forge reviews pull requests on GitHub.")
def options(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_version, help="Print the version.")
    ] = False,
) -> None:
    """The options before a command."""


if __name__ == "__main__":
    main()
