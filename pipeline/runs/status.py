"""Opens and closes what shows people a run: the check of a pull request's, the comment and tests of an issue's."""

from domain.runs.run import Run, Trigger
from memory.runs import runs
from messages.pull_request import Progress
from pipeline.context import Services
from pipeline.publishing import run_check, test_check
from pipeline.publishing.issue_comment import IssueStatus
from pipeline.runs.owner import find_owner


async def open_status(services: Services, run: Run) -> None:
    """The first sign people see; may be repeated.

    :raises Superseded: if another run took over.
    """
    if run.is_of_issue:
        status = IssueStatus(services, run)
        await status.show("admitted", await status.render_progress(Progress()))
    elif not await _starts_silently(services, run):
        await run_check.open_check(services, run)


async def close_status(services: Services, run: Run) -> None:
    """Say how a run ended that something else put an end to; may be repeated."""
    if run.is_of_issue:
        await IssueStatus(services, run).close()
        await test_check.close_checks(services, run)
    else:
        await run_check.close(services, run)


async def _starts_silently(services: Services, run: Run) -> bool:
    """Whether a review shows nothing before its verdict, unless that takes long.

    Nobody asked for it, the run that proposed the change says on its issue how far things are, and its head was never
    looked at, so that no verdict of before stands there meanwhile.
    """
    if run.trigger is not Trigger.pull_request or await find_owner(services, run.repository, run.number) is None:
        return False
    return all(
        each.id == run.id for each in await runs.list_for_head(services.database, run.repository.id, run.head_sha)
    )
