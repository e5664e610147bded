"""Says first of all that a process of Forge starts: loading what it needs takes seconds on a busy machine."""

import os

import structlog

from bot.logging import configure
from bot.settings import load_installation
from bot.version import VERSION

log = structlog.get_logger(__name__)


def announce_start() -> None:
    """Log that the process starts.

    :raises ConfigurationError: if a setting is wrong.
    """
    configure(load_installation().log_format)
    log.info("starting", version=VERSION, pid=os.getpid())
