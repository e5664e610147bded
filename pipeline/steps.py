"""Makes a step durable with DBOS, so that one which completed is never repeated after a crash."""

from collections.abc import Awaitable, Callable
from typing import Any

from dbos import DBOS

Call = Callable[[], Awaitable[dict[str, Any]]]
Durable = Callable[[str, Call], Awaitable[dict[str, Any]]]
"""Calls a step of the workflow it is used in, or answers what the step answered before."""

PAUSES = (1.0, 4.0, 15.0, 60.0, 300.0, 900.0)
"""Seconds before a failed step is repeated; after the last, some twenty minutes, the error stands."""


async def durable(name: str, call: Call) -> dict[str, Any]:
    """A :data:`Durable` step; steps are matched by order, the name is for people."""
    return await DBOS.run_step_async({"name": name}, call)
