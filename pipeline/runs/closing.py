"""Says on GitHub how a run ended where the run itself could not, for as long as it takes and in nobody's way."""

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import Context
from functools import partial

import structlog
from dbos import DBOS, EnqueueOptions

from domain.errors import ForgeError
from domain.runs.run import ReasonCode, Run, RunState
from memory.reservations import reservations
from memory.runs import runs
from pipeline.context import Services
from pipeline.durable.journal import WorkflowJournal
from pipeline.durable.names import APP_VERSION, DELIVERIES, LAST_WORD
from pipeline.gates import ask
from pipeline.runs.status import close_status
from pipeline.steps import call_dbos

DERAILED = "Forge was updated, or restarted after a failure, and cannot go on where this run was."
log = structlog.get_logger(__name__)


async def close_later(run: Run, occasion: str = "") -> None:
    """Leave it to a workflow of its own to close what shows a run; a repeated call changes nothing.

    :param occasion: tells it from an earlier one that could not.
    """
    options: EnqueueOptions = {
        "workflow_name": LAST_WORD,
        "queue_name": DELIVERIES,  # that of its pull request would keep a newer run waiting
        "workflow_id": f"{run.id}/last word{f' after {occasion}' if occasion else ''}",
        "app_version": APP_VERSION,
    }
    await call_dbos(partial(DBOS.enqueue_workflow_with_options_async, options, run.id))


async def end_derailed(services: Services, run: Run, error: Exception) -> str:
    """End a run whose journal does not fit what its code does now, so that nothing of it can be journaled any more.

    That is so after an update that changed its steps, or where what is no step failed once and works now. May be
    repeated.
    """
    log.error("run.derailed", run=run.id, error=str(error))
    now = services.clock.now()
    if await runs.move(services.database, run.id, RunState.failed, now, ReasonCode.error, DERAILED):
        await reservations.close(services.database, run.id, now)
    # Beside the workflow: within it, this would have to be in the journal, too.
    await asyncio.get_running_loop().create_task(close_later(run, "it was derailed"), context=Context())
    return ReasonCode.error.value


async def close_run(services: Services, workflow_id: str, run: Run) -> str:
    """Close what shows a run that ended, and what it asked; how that went."""
    journal = WorkflowJournal(services, workflow_id, pauses=services.long_pauses)

    async def close() -> None:
        await close_status(services, run)

    async def find() -> list[tuple[str, ask.GatePart]]:
        return [*await ask.list_open_parts(services, run)]

    is_said = await _try_step(journal, run, "close the check", close)
    for gate_id, part in await journal.step("what is not shown", find):
        # Each in a step of its own: where much is to be closed, none of it is written twice.
        is_said &= await _try_step(
            journal, run, f"close the {part.value} of a gate", partial(ask.close_part, services, gate_id, part)
        )
    return "said" if is_said else "unsaid"


async def _try_step(journal: WorkflowJournal, run: Run, key: str, last_word: Callable[[], Awaitable[None]]) -> bool:
    """Whether a last word was said, however long that took."""
    try:
        await journal.step(key, last_word)
    except ForgeError as error:
        log.warning("last_word.unsaid", run=run.id, step=key, error=str(error))
        return False
    return True
