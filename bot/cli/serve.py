"""Runs a process of Forge until it is told to stop."""

import asyncio
import contextlib
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
from bot.worker_processes import READY, follow_parent, keep_workers
from pipeline.worker.engine import WorkflowEngine

log = structlog.get_logger(__name__)


async def serve(settings: Settings, workers: int = 0, held: HeldPort | None = None) -> None:
    """Accept webhooks and do the work.

    :param workers: processes that do work beside this one, and end with it.
    :param held: the port that the set-up left.
    :raises ConfigurationError: if a setting is wrong.
    :raises WorkersFailed: if the workers do not start.
    """
    raise_open_files()
    stopped = stop_signal()
    async with (
        keep_workers(settings, workers) as kept,
        process.forge(settings) as running,
        server.serve(running, held=held) as port,
        follow_relay(settings, port),
    ):
        _warn_unusable(running)
        log.info("serving", version=VERSION, host=settings.host, port=port, pid=os.getpid())
        kept.start()
        try:
            await _wait_for_end(stopped, running.workflows, kept.failed)
        finally:
            kept.begin_stopping()
        if kept.problem is not None:
            raise kept.problem


async def work(settings: Settings, *, is_attached: bool = False) -> None:
    """Do work only, beside other processes.

    :param is_attached: another process started this one, which ends with it; their line is the standard input.
    :raises ConfigurationError: if a setting is wrong, or the database is one that processes cannot share.
    """
    require_shared_database(settings.database_url, "`forge worker`")
    raise_open_files()
    stopped = stop_signal()
    parent = follow_parent(stopped) if is_attached else None
    async with process.forge(settings, door=False) as running, server.serve(running) as port:
        _warn_unusable(running)
        log.info("working", version=VERSION, executor=settings.slot, host=settings.host, port=port, pid=os.getpid())
        if parent is not None:
            with contextlib.suppress(ConnectionError):
                parent.send(READY)
        await _wait_for_end(stopped, running.workflows)


def _warn_unusable(running: process.Forge) -> None:
    if is_without_model(running.settings):
        log.info("model.none", why=WITHOUT_MODEL, advice=ADD_MODEL)
        return
    for each in running.services.models.list_unusable():
        log.warning("model.unusable", why=each.reason, advice=each.advice)


async def _wait_for_end(stopped: asyncio.Event, workflows: WorkflowEngine, *others: asyncio.Event) -> None:
    """Wait for the signal to stop; exit at once if another process has taken over this one's work.

    :param others: further events that end the process.
    """
    gc.collect()
    gc.freeze()  # a collection pauses the process, so do not scan lasting objects again
    waiting = [asyncio.create_task(event.wait()) for event in (stopped, workflows.displaced, *others)]
    await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    for task in waiting:
        task.cancel()
    if workflows.displaced.is_set() and not stopped.is_set():
        log.error("displaced", why="Another process has taken over this one's work. Start this one again.")
        os._exit(os.EX_TEMPFAIL)
    log.info("stopping")
