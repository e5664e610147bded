"""Prints a command's result as lines, as a table or as JSON, and in one message why it failed."""

import json
import os
import signal
import sys
import traceback
from collections.abc import Collection, Generator, Iterable, Sequence
from contextlib import contextmanager

from pydantic import JsonValue
from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table

from bot.logging import print_uncaught
from domain.errors import ForgeError, UnknownName
from domain.text.escaping import strip_invisible
from domain.text.redaction import PROCESS_REDACTOR, redact_outgoing

_BROKEN_PIPE = 128 + signal.SIGPIPE
_WIDE = 400
"""Columns where no terminal is: a row of a table stays one line, and nothing is cut."""


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


def print_lines(*lines: str) -> None:
    """Print lines as they are.

    :raises ForgeError: if they could not be written.
    """
    with output() as console:
        for line in lines:
            console.print(line, markup=False, highlight=False, emoji=False, soft_wrap=True)


def print_json(content: JsonValue) -> None:
    """Print what programs read, without secrets; ASCII only, so it cannot control a terminal.

    :raises ForgeError: if it could not be written.
    """
    told = json.dumps(PROCESS_REDACTOR.redact_values(content), indent=2)
    with output() as console:
        console.file.write(told + "\n")


def print_table(names: Sequence[str], rows: Iterable[Sequence[str]], numbers: Collection[str] = ()) -> None:
    """Print a table, without columns in which nothing stands.

    :param numbers: the columns that stand at the right.
    :raises ForgeError: if it could not be written.
    """
    told = [[escape(redact_outgoing(strip_invisible(cell))) for cell in row] for row in rows]
    filled = [
        place for place, name in enumerate(names) if not told or name in numbers or any(row[place] for row in told)
    ]
    columns = [
        Column(
            names[place],
            justify="right" if names[place] in numbers else "left",
            no_wrap=place == 0 or names[place] in numbers,
        )
        for place in filled
    ]
    table = Table(*columns, box=None)
    for row in told:
        table.add_row(*(row[place] for place in filled))
    with output() as console:
        console.print(table)


@contextmanager
def output() -> Generator[Console]:
    """The console to print on. Only print inside it, because any OSError there counts as a failed write.

    :raises ForgeError: if the output could not be written.
    :raises SystemExit: silently, if the reader has closed the pipe, as `head` does.
    """
    if sys.stdout is None:  # Python's sign that it was closed
        raise ForgeError("Standard output is closed, so nothing can be printed.")
    try:
        yield _Console(width=None if sys.stdout.isatty() or "COLUMNS" in os.environ else _WIDE)
        sys.stdout.flush()
    except BrokenPipeError:
        _give_up_output()
        raise SystemExit(_BROKEN_PIPE) from None
    except OSError as error:
        raise describe_unwritten(error) from None


def describe_unwritten(error: OSError) -> ForgeError:
    """The error for output that could not be written; what is left of it is given up."""
    _give_up_output()
    return ForgeError(f"Standard output could not be written: {error.strerror}.")


def _give_up_output() -> None:
    """Discard what is left in the buffer, or the interpreter would fail on it again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Raise the error again: rich would exit with 1, which here means that changes are requested."""
        raise  # noqa: PLE0704  # rich calls this while it handles the error
