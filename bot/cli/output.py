"""Prints what a command was asked for on standard output, which may be closed or full."""

import os
import signal
import sys
import traceback
from collections.abc import Generator
from contextlib import contextmanager

from rich.console import Console

from domain.errors import ForgeError

_BROKEN_PIPE = 128 + signal.SIGPIPE
_OF_THE_LIBRARY = frozenset({"get_help", "echo"})
"""The functions by which the library of the command line prints."""


@contextmanager
def output() -> Generator[Console]:
    """The console to print on; nothing else is done meanwhile, so that a failure is one of the output.

    :raises ForgeError: if something printed could not be written.
    :raises SystemExit: without a word, if nobody reads any more, as `head` does after its lines.
    """
    if sys.stdout is None:  # pyright: ignore[reportUnnecessaryComparison]  # so Python says that it was closed
        raise ForgeError("Standard output is closed, so nothing can be printed.")
    try:
        yield _Console()
        sys.stdout.flush()
    except BrokenPipeError:
        _give_up_output()
        raise SystemExit(_BROKEN_PIPE) from None
    except OSError as error:
        raise _output_error(error) from None


@contextmanager
def guard_output() -> Generator[None]:
    """For what the library of the command line prints by itself: help and completion.

    :raises ForgeError: if that could not be written.
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
    """Throw away what is left in the buffer, or the interpreter would fail at it once more at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Not an exit code of rich's own, which says that changes are requested."""
        raise  # noqa: PLE0704  # rich calls this while it handles the error
