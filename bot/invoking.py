"""Does the work of a command with the settings of the environment."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from bot.logging import configure
from bot.settings import Settings, load


def run(work: Callable[[Settings], Coroutine[Any, Any, None]]) -> None:
    """Load the settings and do it.

    :raises ConfigurationError: if a setting is wrong.
    """
    settings = load()
    configure(settings.log_format)
    asyncio.run(work(settings))
