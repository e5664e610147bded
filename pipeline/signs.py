"""Opens and closes what shows people a run: the check of a pull request's, the comment and tests of an issue's."""

from domain.proposal_texts import Progress
from domain.runs import Run, Trigger
from memory import runs
from pipeline import tests_shown
from pipeline.owning import owner_of
from pipeline.publish import Publisher
from pipeline.services import Services
from pipeline.status import IssueStatus


async def open_sign(services: Services, run: Run) -> None:
    """The first sign people see; may be repeated.

    :raises Superseded: if another run took over.
    """
    if run.is_of_issue:
        status = IssueStatus(services, run)
        await status.show("admitted", await status.told(Progress()))
    elif not await _goes_without(services, run):
        await Publisher.of(services).open_check(run)


async def close_sign(services: Services, run: Run) -> None:
    """Say how a run ended that something else put an end to; may be repeated."""
    if run.is_of_issue:
        await IssueStatus(services, run).close()
        await tests_shown.close(services, run)
    else:
        await Publisher.of(services).close(run)


async def _goes_without(services: Services, run: Run) -> bool:
    """Whether a review shows nothing before its verdict, unless that takes long.

    Nobody asked for it, the run that proposed the change says on its issue how far things are, and its head was never
    looked at, so that no verdict of before stands there meanwhile.
    """
    if run.trigger is not Trigger.pull_request or await owner_of(services, run.repository, run.number) is None:
        return False
    return all(each.id == run.id for each in await runs.of_head(services.database, run.repository.id, run.head_sha))
