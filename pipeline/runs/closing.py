"""Closes on GitHub what shows a run that ended and could not do that itself."""

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import Context
from typing import TypeVarTuple

import structlog

from domain.errors import CodeHostError, ForgeError, Recovery
from domain.runs.run import ReasonCode, Run, RunState
from memory import reservations
from memory.runs import runs, waits
from pipeline.context import Services
from pipeline.durable.journal import WorkflowJournal
from pipeline.durable.queues import enqueue
from pipeline.durable.workflows import CLOSE_RUN
from pipeline.gates import ask
from pipeline.publishing import run_check
from pipeline.runs.status import close_status

DERAILED = "Forge was updated, or restarted after a failure, and cannot go on where this run was."
Arguments = TypeVarTuple("Arguments")
log = structlog.get_logger(__name__)


async def close_later(run: Run, occasion: str = "") -> None:
    """Queue a workflow that closes what shows a run; a repeated call changes nothing.

    :param occasion: distinguishes it from an earlier attempt.
    """
    key = {"occasion": occasion} if occasion else {}
    await enqueue(CLOSE_RUN, run.id, run=run.id, **key)


async def try_to_close(services: Services, run: Run) -> bool:
    """Close at once what shows a run that ended, and its gates; False if GitHub may accept that later."""
    await waits.end(services.database, run.id, services.clock.now())
    is_void = await _try_write(ask.show_closed_gates(services, run))
    is_left = run.reason is ReasonCode.closed and not await run_check.was_asking(services, run)
    if is_left and await run_check.has_concluded(services, run):
        return is_void  # its verdict came first, or the run finds that it did not
    return await _try_write(close_status(services, run)) and is_void


async def end_derailed(services: Services, run: Run, error: Exception) -> str:
    """End a run whose journal does not fit its code any more. May be repeated.

    This happens after an update that changed its steps, or where work outside the journal answers differently.
    """
    log.error("run.derailed", run=run.id, error=str(error))
    now = services.clock.now()
    if await runs.move(services.database, run.id, RunState.failed, now, ReasonCode.error, DERAILED):
        await reservations.close(services.database, run.id, now)
    # Outside the workflow: its journal takes no more steps.
    await asyncio.get_running_loop().create_task(close_later(run, "it was derailed"), context=Context())
    return ReasonCode.error.value


async def close_run(services: Services, workflow_id: str, run: Run) -> str:
    """Close what shows a run that ended, and its gates, each in a step of its own; how that went."""
    journal = WorkflowJournal(services, workflow_id, pauses=services.long_pauses)
    is_closed = await _try_step(journal, run, "close the check", close_status, services, run)
    for gate_id, part in await journal.step("what is not shown", _list_open_parts, services, run):
        is_closed &= await _try_step(
            journal, run, f"close the {part.value} of a gate", ask.close_part, services, gate_id, part
        )
    return "said" if is_closed else "unsaid"


async def _list_open_parts(services: Services, run: Run) -> list[tuple[str, ask.GatePart]]:
    return [*await ask.list_open_parts(services, run)]


async def _try_step(
    journal: WorkflowJournal,
    run: Run,
    key: str,
    call: Callable[[*Arguments], Awaitable[None]],
    *arguments: *Arguments,
) -> bool:
    """Whether a write was made, however long that took."""
    try:
        await journal.step(key, call, *arguments)
    except ForgeError as error:
        log.warning("last_word.unsaid", run=run.id, step=key, error=str(error))
        return False
    return True


async def _try_write(write: Awaitable[None]) -> bool:
    """Write once; False if GitHub may accept it later."""
    try:
        await write
    except CodeHostError as error:
        return error.recovery not in {Recovery.wait, Recovery.retry}
    return True
