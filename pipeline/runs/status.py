"""Opens and closes what shows a run, whoever ended it, and wakes the runs that wait for it."""

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import Context
from typing import TypeVarTuple

import structlog

from domain.errors import CodeHostError, ForgeError, Recovery
from domain.runs.run import ReasonCode, RepositoryRef, Run, RunState, Trigger
from memory import reservations
from memory.runs import instructions, outbox, runs, waits
from messages import instructions as instruction_texts
from messages.plan import StepState
from messages.pull_request import Progress
from pipeline.config import loading
from pipeline.context import Services
from pipeline.durable.journal import WorkflowJournal
from pipeline.durable.queues import CLOSE_RUN, enqueue, enqueue_resume
from pipeline.publishing import checks, gate_checks, test_check
from pipeline.publishing.deployment_record import close_deployment
from pipeline.publishing.instructions import answer_instruction
from pipeline.publishing.issue_comment import IssueStatus

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
    is_void = await _try_write(gate_checks.show_closed_gates(services, run))
    is_left = run.reason is ReasonCode.closed and not await checks.was_asking(services, run)
    if is_left and await checks.has_concluded(services, run):
        return is_void  # its verdict came first, or the run finds that it did not
    return await _try_write(close_status(services, run)) and is_void


async def _try_write(write: Awaitable[None]) -> bool:
    """Write once; False if GitHub may accept it later."""
    try:
        await write
    except CodeHostError as error:
        return error.recovery not in {Recovery.wait, Recovery.retry}
    return True


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
            journal, run, f"close the {part.value} of a gate", gate_checks.close_part, services, gate_id, part
        )
    return "said" if is_closed else "unsaid"


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


async def _list_open_parts(services: Services, run: Run) -> list[tuple[str, gate_checks.GatePart]]:
    return [*await gate_checks.list_open_parts(services, run)]


async def find_owner(services: Services, repository: RepositoryRef, number: int) -> Run | None:
    """The run that opened a pull request, unless it is over."""
    run = await outbox.find_proposing_run(services.database, repository.id, number)
    return None if run is None or run.state.is_final else run


async def wake_owner(
    services: Services, journal: WorkflowJournal, repository: RepositoryRef, number: int, cause: str
) -> None:
    """Queue the run that opened a pull request, unless it is over.

    :param cause: what happened; the same cause queues it once.
    """
    run = await journal.step("whose pull request it is", _find_and_end_wait, services, repository, number)
    if run is not None:
        await enqueue_resume(run, cause)


async def _find_and_end_wait(services: Services, repository: RepositoryRef, number: int) -> Run | None:
    run = await find_owner(services, repository, number)
    if run is not None:
        await waits.end(services.database, run.id, services.clock.now())  # a longer wait would delay this
    return run


async def open_status(services: Services, run: Run) -> None:
    """Show that the run was admitted; may be repeated.

    :raises Superseded: if another run took over.
    """
    if run.is_of_issue:
        status = IssueStatus(services, run)
        await status.show("admitted", await status.render_progress(Progress(planning=StepState.queued)))
    elif not await is_unasked(services, run) and not await _starts_silently(services, run):
        await checks.open_check(services, run)


async def _starts_silently(services: Services, run: Run) -> bool:
    """Whether a review shows nothing before its verdict, unless that takes long.

    So is the first review of a head that an issue run pushed: that run shows its progress on the issue.
    """
    if run.trigger is not Trigger.pull_request or await find_owner(services, run.repository, run.number) is None:
        return False
    return all(
        each.id == run.id for each in await runs.list_for_head(services.database, run.repository.id, run.head_sha)
    )


async def close_status(services: Services, run: Run) -> None:
    """Show how a run ended that something else ended; may be repeated."""
    if run.trigger is Trigger.deployment:
        await close_deployment(services, run)
    elif run.trigger is Trigger.instruction:
        ended = await runs.get(services.database, run.id) or run
        pushed = await outbox.list_pushes(services.database, run.id)
        await answer_instruction(services, run, instruction_texts.report_stopped(ended.reason, is_pushed=bool(pushed)))
    elif run.is_of_issue:
        await IssueStatus(services, run).close()
        await test_check.close_checks(services, run)
    else:
        await checks.close(services, run)


async def is_unasked(services: Services, run: Run) -> bool:
    """Whether nobody asked for a review, and reviews were off here at the last run: it shows nothing before its end."""
    if run.trigger is not Trigger.pull_request:
        return False
    return not (await loading.load_stored(services.database, run.repository)).review.on_pull_request


async def wake_next(services: Services, journal: WorkflowJournal, run: Run, cause: str) -> None:
    """Queue the instruction that waits for this one, if this one is over.

    :param cause: the execution that ended; the same one queues it once.
    """
    waiting = await journal.step("whose turn it is", instructions.find_next, services.database, run)
    if waiting is not None:
        await enqueue_resume(waiting, f"after {cause}")
