"""Does the work of a command with the settings of the environment."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from bot.logging import configure
from bot.settings import Installation, Settings, load, load_installation


def run(work: Callable[[Installation], Coroutine[Any, Any, None]]) -> None:
    """Load what a command needs that looks into the database, and do it.

    :raises ConfigurationError: if a setting is wrong.
    """
    settings = load_installation()
    configure(settings.log_format)
    asyncio.run(work(settings))


def run_app(work: Callable[[Settings], Coroutine[Any, Any, None]]) -> None:
    """Load all settings and do what the App does.

    :raises ConfigurationError: if a setting is wrong.
    """
    settings = load()
    configure(settings.log_format)
    asyncio.run(work(settings))
