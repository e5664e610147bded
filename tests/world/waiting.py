"""Waits for what another process, or Forge in the background, is to do: nobody tells a test when it is done."""

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable

PATIENCE = 240.0  # seconds, on a machine that has other things to do


async def until(
    holds: Callable[[], bool | Awaitable[bool]], explain: Callable[[], str] = lambda: "it never was"
) -> None:
    """Wait until something holds.

    :param explain: what is said if it never does.
    """
    end = time.monotonic() + PATIENCE
    while True:
        found = holds()
        if await found if inspect.isawaitable(found) else found:
            return
        assert time.monotonic() < end, explain()
        await asyncio.sleep(0.05)
