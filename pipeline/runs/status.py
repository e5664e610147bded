"""Opens and closes what shows a run, and wakes the run that opened a pull request."""

from domain.runs.run import RepositoryRef, Run, Trigger
from memory.runs import outbox, runs, waits
from messages import instructions as instruction_texts
from messages.plan import StepState
from messages.pull_request import Progress
from pipeline.config import loading
from pipeline.context import Services
from pipeline.durable.journal import WorkflowJournal
from pipeline.durable.queues import enqueue_resume
from pipeline.publishing import run_check, test_check
from pipeline.publishing.deployment_record import close_deployment
from pipeline.publishing.instructions import answer_instruction
from pipeline.publishing.issue_comment import IssueStatus


async def find_owner(services: Services, repository: RepositoryRef, number: int) -> Run | None:
    """The run that opened a pull request, unless it is over."""
    owner = await outbox.find_proposing_run(services.database, repository.id, number)
    run = None if owner is None else await runs.get(services.database, owner)
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
        await run_check.open_check(services, run)


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
        await run_check.close(services, run)


async def is_unasked(services: Services, run: Run) -> bool:
    """Whether nobody asked for a review, and reviews were off here at the last run: it shows nothing before its end."""
    if run.trigger is not Trigger.pull_request:
        return False
    return not (await loading.load_stored(services.database, run.repository)).review.on_pull_request


async def _starts_silently(services: Services, run: Run) -> bool:
    """Whether a review shows nothing before its verdict, unless that takes long.

    So is the first review of a head that an issue run pushed: that run shows its progress on the issue.
    """
    if run.trigger is not Trigger.pull_request or await find_owner(services, run.repository, run.number) is None:
        return False
    return all(
        each.id == run.id for each in await runs.list_for_head(services.database, run.repository.id, run.head_sha)
    )
