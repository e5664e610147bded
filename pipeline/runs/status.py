"""Opens and closes what shows a run: a review's check, an issue's comment and checks, the answer to an instruction."""

from domain.runs.run import Run, Trigger
from memory.runs import outbox, runs
from messages import instructions as instruction_texts
from messages.pull_request import Progress
from pipeline.config import loading
from pipeline.context import Services
from pipeline.publishing import run_check, test_check
from pipeline.publishing.deployment_end import close_deployment
from pipeline.publishing.instructions import answer_instruction
from pipeline.publishing.issue_comment import IssueStatus
from pipeline.runs.wake_up import find_owner


async def open_status(services: Services, run: Run) -> None:
    """Show that the run was admitted; may be repeated.

    :raises Superseded: if another run took over.
    """
    if run.is_of_issue:
        status = IssueStatus(services, run)
        await status.show("admitted", await status.render_progress(Progress()))
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
