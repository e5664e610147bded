"""Prints a command's result on standard output, which may be closed or full."""

import os
import signal
import sys
import traceback
from collections.abc import Generator
from contextlib import contextmanager

from rich.console import Console

from domain.errors import ForgeError

_BROKEN_PIPE = 128 + signal.SIGPIPE
_WIDE = 400
"""Columns where no terminal is: a row of a table stays one line, and nothing is cut."""
_OF_THE_LIBRARY = frozenset({"get_help", "echo"})
"""The functions with which click and typer print."""


@contextmanager
def output() -> Generator[Console]:
    """The console to print on. Only print inside it, because any OSError there counts as a failed write.

    :raises ForgeError: if the output could not be written.
    :raises SystemExit: silently, if the reader has closed the pipe, as `head` does.
    """
    if sys.stdout is None:  # pyright: ignore[reportUnnecessaryComparison]  # Python's sign that it was closed
        raise ForgeError("Standard output is closed, so nothing can be printed.")
    try:
        yield _Console(width=None if sys.stdout.isatty() or "COLUMNS" in os.environ else _WIDE)
        sys.stdout.flush()
    except BrokenPipeError:
        _give_up_output()
        raise SystemExit(_BROKEN_PIPE) from None
    except OSError as error:
        raise _output_error(error) from None


@contextmanager
def guard_output() -> Generator[None]:
    """Guards what click and typer print themselves: help and completion.

    :raises ForgeError: if it could not be written.
    """
    try:
        yield
    except OSError as error:
        calling = {frame.f_code.co_name for frame, _ in traceback.walk_tb(error.__traceback__)}
        if not calling & _OF_THE_LIBRARY:
            raise
        raise _output_error(error) from None


def _output_error(error: OSError) -> ForgeError:
    _give_up_output()
    return ForgeError(f"Standard output could not be written: {error.strerror}.")


def _give_up_output() -> None:
    """Discard what is left in the buffer, or the interpreter would fail on it again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Raise the error again: rich would exit with 1, which here means that changes are requested."""
        raise  # noqa: PLE0704  # rich calls this while it handles the error
