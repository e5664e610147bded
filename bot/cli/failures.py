"""Says why a command failed, in one message."""

import traceback

from rich.console import Console
from rich.markup import escape

from bot.cli.output import describe_unwritten
from bot.logging import print_uncaught
from domain.errors import ForgeError, UnknownName
from domain.text.escaping import strip_invisible

_OF_THE_LIBRARY = frozenset({"get_help", "echo"})
"""The functions with which click and typer print."""


def explain_failure(error: Exception) -> int:
    """Print one message for an error; the exit code: 1 if something named does not exist, otherwise 2."""
    console = Console(stderr=True)
    if isinstance(error, OSError) and _OF_THE_LIBRARY & {
        frame.f_code.co_name for frame, _ in traceback.walk_tb(error.__traceback__)
    }:
        error = describe_unwritten(error)
    if isinstance(error, ForgeError):
        console.print(f"[bold red]forge:[/] {escape(strip_invisible(str(error)))}", highlight=False, soft_wrap=True)
        return 1 if isinstance(error, UnknownName) else 2
    print_uncaught(type(error), error, error.__traceback__)
    console.print("[bold red]forge:[/] Forge made a mistake of its own; please report it with the lines above.")
    return 2
