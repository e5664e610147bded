"""Makes a step durable with DBOS, so that one which completed is never repeated after a crash."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, TypeVar, TypeVarTuple, cast

import structlog
from dbos import DBOS
from dbos._serialization import PortableWorkflowError  # not exported; DBOS raises it for a recorded failure

from domain.errors import ForgeError, Recovery
from memory.db.engine import OUTAGES, is_outage

T = TypeVar("T")
Arguments = TypeVarTuple("Arguments")
log = structlog.get_logger(__name__)

Call = Callable[[], Awaitable[dict[str, Any]]]
Durable = Callable[[str, Call], Awaitable[dict[str, Any]]]
"""Runs a step of the current workflow, or answers its recorded answer."""

PAUSES = (1.0, 4.0, 15.0, 60.0, 300.0, 900.0)
"""Seconds before a failed step is repeated; after the last, some twenty minutes, the error is final."""

LAG = (0.5, 1.0, 2.0, 4.0, 8.0, 15.0)
"""Seconds before GitHub is read again that does not show yet what a webhook told: half a minute together."""

STUBBORN = 200
"""How often the last pause is repeated where giving up would lose something: two days."""


async def run_durable_step(name: str, call: Call) -> dict[str, Any]:
    """A :data:`Durable` step. DBOS matches steps by order; the name is for people."""
    return await call_dbos(cast(Call, partial(DBOS.run_step_async, {"name": name}, call)))


async def call_dbos(operation: Callable[[], Awaitable[T]]) -> T:
    """The answer of an operation that DBOS records.

    If the database fails, nobody knows whether it was recorded, so the workflow is interrupted. If DBOS recorded the
    failure itself as the answer, the operation is repeated.
    """
    while True:
        try:
            return await operation()
        except PortableWorkflowError as error:
            if error.name not in OUTAGES:
                raise
        except Exception as error:
            if not is_outage(error):
                raise
            raise make_interruption(error) from error


async def run_outside_journal(call: Callable[[*Arguments], Awaitable[T]], *arguments: *Arguments) -> T:
    """Run a call that is no step, because its result is local, such as commits on this machine.

    A transient error interrupts the workflow, which is queued again soon, and is never its outcome.
    """
    try:
        return await call(*arguments)
    except ForgeError as error:
        if error.recovery is Recovery.stop:
            raise
        raise make_interruption(error) from error


def make_interruption(error: Exception) -> asyncio.CancelledError:
    """Ends this execution of the workflow without an outcome, as if the process had died.

    The engine queues it again soon; recorded steps are not repeated.
    """
    log.warning("workflow.interrupted", workflow=DBOS.workflow_id, error=str(error))
    return asyncio.CancelledError()
