"""Says first of all that a process of Forge starts: loading what it needs takes seconds on a busy machine."""

import os
from collections.abc import Callable

import structlog

from bot.logging import configure
from bot.settings import Installation, Settings, load_installation
from bot.version import VERSION

log = structlog.get_logger(__name__)


def announce_start(load: Callable[[], Installation] = load_installation) -> None:
    """Log that the process starts, once it has the settings it needs.

    :raises ConfigurationError: if a setting is wrong.
    """
    settings = load()
    if isinstance(settings, Settings):
        _ = settings.github  # raises for a wrong key or address
    configure(settings.log_format)
    log.info("starting", version=VERSION, pid=os.getpid())
