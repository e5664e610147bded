"""Runs a command with the settings of the environment."""

import asyncio
import getpass
from collections.abc import Callable, Coroutine
from typing import Any

from bot import interrupts
from bot.logging import configure
from bot.settings import AnySettings, DoorSettings, Installation, Settings, load, load_door, load_installation


def run(work: Callable[[Installation], Coroutine[Any, Any, None]]) -> None:
    """Run a command that needs only the database.

    :raises ConfigurationError: if a setting is wrong.
    """
    _run(load_installation, work)


def run_app(work: Callable[[Settings], Coroutine[Any, Any, None]]) -> None:
    """Run a command that needs all settings of the App.

    :raises ConfigurationError: if a setting is wrong.
    """
    _run(load, work)


def run_door(work: Callable[[DoorSettings], Coroutine[Any, Any, None]]) -> None:
    """Run a command that needs the settings of a process that only takes webhooks.

    :raises ConfigurationError: if a setting is wrong.
    """
    _run(load_door, work)


def _run(read: Callable[[], AnySettings], work: Callable[[AnySettings], Coroutine[Any, Any, None]]) -> None:
    settings = read()
    configure(settings.log_format)
    interrupts.raise_again()
    asyncio.run(work(settings))


def operator_name() -> str:
    """The account on this machine that runs the command; empty if it has no name, as in some containers."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return ""
