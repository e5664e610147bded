"""Runs a process of Forge until it is told to stop."""

import asyncio
import gc
import os

import structlog

from bot import app as process
from bot import server
from bot.cli.process import raise_open_files, stop_signal
from bot.current_database import require_shared_database
from bot.listener import HeldPort
from bot.relay import follow_relay
from bot.settings import ADD_MODEL, WITHOUT_MODEL, Settings, is_without_model
from bot.version import VERSION
from pipeline.worker.engine import WorkflowEngine

log = structlog.get_logger(__name__)


async def serve(settings: Settings, held: HeldPort | None = None) -> None:
    """Accept webhooks and do the work.

    :param held: the port that the set-up left.
    :raises ConfigurationError: if a setting is wrong.
    """
    raise_open_files()
    stopped = stop_signal()
    async with (
        process.forge(settings) as running,
        server.serve(running, held=held) as port,
        follow_relay(settings, port),
    ):
        _warn_unusable(running)
        log.info("serving", version=VERSION, host=settings.host, port=port, pid=os.getpid())
        await _wait_for_end(stopped, running.workflows)


async def work(settings: Settings) -> None:
    """Do work only, beside other processes.

    :raises ConfigurationError: if a setting is wrong, or the database is one that processes cannot share.
    """
    require_shared_database(settings.database_url, "`forge worker`")
    raise_open_files()
    stopped = stop_signal()
    async with process.forge(settings, door=False) as running, server.serve(running) as port:
        _warn_unusable(running)
        log.info("working", version=VERSION, executor=settings.slot, host=settings.host, port=port, pid=os.getpid())
        await _wait_for_end(stopped, running.workflows)


def _warn_unusable(running: process.Forge) -> None:
    if is_without_model(running.settings):
        log.info("model.none", why=WITHOUT_MODEL, advice=ADD_MODEL)
        return
    for each in running.services.models.list_unusable():
        log.warning("model.unusable", why=each.reason, advice=each.advice)


async def _wait_for_end(stopped: asyncio.Event, workflows: WorkflowEngine) -> None:
    """Wait for the signal to stop; exit at once if another process has taken over this one's work."""
    gc.collect()
    gc.freeze()  # a collection pauses the process, so do not scan lasting objects again
    waiting = [asyncio.create_task(event.wait()) for event in (stopped, workflows.displaced)]
    await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    for task in waiting:
        task.cancel()
    if workflows.displaced.is_set() and not stopped.is_set():
        log.error("displaced", why="Another process has taken over this one's work. Start this one again.")
        os._exit(os.EX_TEMPFAIL)
    log.info("stopping")
