"""Starts commands with the settings of the environment, and what every serving process does at its start."""

import asyncio
import functools
import getpass
import inspect
import os
import resource
import signal
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import structlog
import typer

from bot import interrupts
from bot.logging import configure
from bot.settings import AnySettings, Installation, Settings, load
from bot.version import VERSION

_OPEN_FILES = 65_536
"""How many files the process may have open, if its hard limit allows. Pausing an agent takes one for each process."""


def raise_open_files() -> None:
    """Raise the soft limit of open files, which is often 1,024, as far as the hard one allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _OPEN_FILES if hard == resource.RLIM_INFINITY else min(_OPEN_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def stop_signal() -> asyncio.Event:
    """An event that the first SIGTERM or SIGINT sets."""
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    return stopped


_Work = TypeVar("_Work", bound=Callable[..., Coroutine[Any, Any, None]])


def run(kind: type[AnySettings], work: Callable[[AnySettings], Coroutine[Any, Any, None]]) -> None:
    """Run a command that needs these settings: of the database alone, of a door, or of the App.

    :raises ConfigurationError: if a setting is wrong.
    """
    settings = load(kind)
    configure(settings.log_format)
    interrupts.raise_again()
    asyncio.run(work(settings))


def command(app: typer.Typer, name: str) -> Callable[[_Work], _Work]:
    """Make an async function a command that needs only the database: it gets the settings, the rest are options.

    Its help is what the function's docstring says before the fields.
    """

    def add(work: _Work) -> _Work:
        @functools.wraps(work)
        def start(**options: Any) -> None:
            run(Installation, lambda settings: work(settings, **options))

        taken = inspect.signature(work)
        vars(start).update(__signature__=taken.replace(parameters=[*taken.parameters.values()][1:]))
        app.command(name, help=(inspect.getdoc(work) or "").partition("\n\n:")[0])(start)
        return work

    return add


def operator_name() -> str:
    """The account on this machine that runs the command; empty if it has no name, as in some containers."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return ""


log = structlog.get_logger(__name__)


def announce_start(kind: type[Installation]) -> None:
    """Log that the process starts, once it has the settings it needs.

    :raises ConfigurationError: if a setting is wrong.
    """
    settings = load(kind)
    if isinstance(settings, Settings):
        _ = settings.github  # raises for a wrong key or address
    configure(settings.log_format)
    log.info("starting", version=VERSION, pid=os.getpid())
