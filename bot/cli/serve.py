"""Runs a process of Forge until it is told to stop."""

import asyncio
import gc
import os
import resource
import signal

import structlog

from bot import app as process
from bot import server
from bot.relay import follow_relay
from bot.settings import Settings
from bot.version import VERSION
from pipeline.worker.engine import WorkflowEngine

log = structlog.get_logger(__name__)

_OPEN_FILES = 65_536
"""How many files the process may have open, if its hard limit allows. Pausing an agent takes one for each process."""


async def serve(settings: Settings) -> None:
    """Accept webhooks and do the work."""
    raise_open_files()
    stopped = stop_signal()
    async with (
        process.forge(settings) as running,
        server.serve(running) as port,
        follow_relay(settings, port),
    ):
        _warn_unusable(running)
        log.info("serving", version=VERSION, host=settings.host, port=port, pid=os.getpid())
        await _wait_for_end(stopped, running.workflows)


async def work(settings: Settings) -> None:
    """Do work only, beside other processes."""
    raise_open_files()
    stopped = stop_signal()
    async with process.forge(settings, door=False) as running, server.serve(running) as port:
        _warn_unusable(running)
        log.info("working", version=VERSION, executor=settings.slot, host=settings.host, port=port, pid=os.getpid())
        await _wait_for_end(stopped, running.workflows)


def raise_open_files() -> None:
    """Raise the soft limit of open files, which is often 1,024, as far as the hard one allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _OPEN_FILES if hard == resource.RLIM_INFINITY else min(_OPEN_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _warn_unusable(running: process.Forge) -> None:
    for each in running.services.models.list_unusable():
        log.warning("model.unusable", why=each.reason, advice=each.advice)


async def _wait_for_end(stopped: asyncio.Event, workflows: WorkflowEngine) -> None:
    """Wait for the signal to stop; exit at once if another process may have taken over this one's work."""
    gc.collect()
    gc.freeze()  # a collection pauses the process, so do not scan lasting objects again
    waiting = [asyncio.create_task(event.wait()) for event in (stopped, workflows.displaced)]
    await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    for task in waiting:
        task.cancel()
    if workflows.displaced.is_set() and not stopped.is_set():
        log.error("displaced", why="The lease ran out, so another process may have taken over. Start this one again.")
        os._exit(os.EX_TEMPFAIL)
    log.info("stopping")


def stop_signal() -> asyncio.Event:
    """An event that the first SIGTERM or SIGINT sets."""
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    return stopped
