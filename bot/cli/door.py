"""Runs a process that only takes webhooks until it is told to stop."""

import gc
import os

import structlog

from bot.cli.process import raise_open_files, stop_signal
from bot.doors import serve_door
from bot.settings import DoorSettings
from bot.version import VERSION

log = structlog.get_logger(__name__)


async def serve(settings: DoorSettings) -> None:
    """Take webhooks and reports of monitoring, and store them for the processes that work."""
    raise_open_files()
    stopped = stop_signal()
    async with serve_door(settings) as port:
        log.info("taking webhooks", version=VERSION, host=settings.host, port=port, pid=os.getpid())
        gc.collect()
        gc.freeze()  # a collection pauses the process, so do not scan lasting objects again
        await stopped.wait()
        log.info("stopping")
