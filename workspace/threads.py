"""Runs work that blocks in a thread, which never outlives the call that started it."""

import asyncio
import threading
from collections.abc import Callable


async def run_to_end(work: Callable[[], None], stop: threading.Event) -> None:
    """Run this in a thread. If it is cancelled, it stops the work and waits for the thread.

    :param work: ends soon after ``stop`` is set.
    """
    task = asyncio.create_task(asyncio.to_thread(work))
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        stop.set()
        await asyncio.gather(task, return_exceptions=True)
        raise
