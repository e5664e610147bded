"""The command line for operators and developers. People decide on GitHub, never here."""

import importlib
import sys
from collections.abc import Mapping
from itertools import groupby
from typing import Annotated, Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup

from bot.version import VERSION


class LateCommand(NamedTuple):
    """Where a command is, and what the list of commands says of it.

    :param module: below ``bot.cli``; it has the command in its ``commands``.
    :param panel: empty: it is not listed.
    """

    module: str
    panel: str
    meaning: str


_SERVE, _INSPECT, _INTERVENE, _WITHOUT = "Serve", "Inspect", "Intervene", "Without GitHub"
COMMANDS: Mapping[str, LateCommand] = {
    "serve": LateCommand("server", _SERVE, "Accept webhooks and do the work."),
    "setup": LateCommand("server", _SERVE, "Set Forge up in a browser."),
    "worker": LateCommand("server", _SERVE, "Do work only, beside other processes on the same database."),
    "door": LateCommand("server", _SERVE, "Take webhooks only, and store them for the workers."),
    "migrate": LateCommand("server", _SERVE, "Migrate the database to this version's schema."),
    "doctor": LateCommand("server", _SERVE, "Check settings, database, GitHub, models, tools and sandbox."),
    "runs": LateCommand("runs", _INSPECT, "List runs, or the events of one."),
    "gates": LateCommand("gates", _INSPECT, "List the latest gates, waiting ones first, or show one."),
    "costs": LateCommand("costs", _INSPECT, "Sum up what models cost."),
    "metrics": LateCommand("metrics", _INSPECT, "Show how well Forge does week by week."),
    "audit": LateCommand("audit", _INSPECT, "Show who decided what, and what was stopped and why."),
    "deliveries": LateCommand("runs", _INSPECT, "Count deliveries, or list those that failed."),
    "notices": LateCommand("notices", _INSPECT, "List whom Forge told what, or try a target."),
    "memory": LateCommand("memory", _INSPECT, "Show, add, edit, archive, export and import memories."),
    "feedback": LateCommand("feedback", _INSPECT, "What monitoring reports of production."),
    "replay": LateCommand("intervention", _INTERVENE, "Repeat what a delivery asked for."),
    "halt": LateCommand("intervention", _INTERVENE, "Stop everything now."),
    "resume": LateCommand("intervention", _INTERVENE, "Continue everything that `forge halt` stopped."),
    "review": LateCommand("local", _WITHOUT, "Review a local repository, or one pull request on GitHub."),
    "config": LateCommand("local", _WITHOUT, "Check a configuration file before it is pushed."),
    "demo": LateCommand("local", _WITHOUT, "Show a review from end to end on this machine."),
    "action": LateCommand("local", "", "Review the pull request of a job of GitHub Actions."),
}
"""In the order in which they are listed."""


class _Forge(TyperGroup):
    """The commands of the table."""

    def __init__(self, **more: Any) -> None:
        super().__init__(**more)
        for name, row in COMMANDS.items():  # what is listed, completed and suggested of each, without its options
            self.add_command(TyperCommand(name, help=row.meaning, hidden=not row.panel))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, _, rest = super().resolve_command(ctx, args)
        assert name is not None
        loaded: Any = typer.main.get_command(importlib.import_module(f"bot.cli.{COMMANDS[name].module}").commands)
        command = getattr(loaded, "commands", {}).get(name, loaded)
        command.name = name
        return name, command, rest

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        for panel, rows in groupby(COMMANDS.items(), lambda row: row[1].panel):
            if panel:
                with formatter.section(panel):
                    formatter.write_dl([(name, row.meaning) for name, row in rows])

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:  # as pydantic says it
            error.message = error.message.removeprefix("Value error, ")
            raise


cli = typer.Typer(cls=_Forge, no_args_is_help=True, rich_markup_mode=None)


def main() -> None:
    """Run the command; an error becomes one message and exit code 2, or 1 if something named does not exist."""
    try:
        cli()
    except Exception as error:
        from bot.cli.output import explain_failure  # slow to import: only who fails waits for it

        sys.exit(explain_failure(error))


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"forge {VERSION}")
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
