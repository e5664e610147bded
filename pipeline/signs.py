"""Opens and closes what shows people a run: the check of a pull request's, the comment and tests of an issue's."""

from domain.proposal_texts import Progress
from domain.runs import Run
from pipeline import tests_shown
from pipeline.services import Services
from pipeline.status import IssueStatus


async def open_sign(services: Services, run: Run) -> None:
    """The first sign people see; may be repeated.

    :raises Superseded: if another run took over.
    """
    if run.is_of_issue:
        status = IssueStatus(services, run)
        await status.show("admitted", await status.told(Progress()))
    else:
        await services.publisher.open_check(run)


async def close_sign(services: Services, run: Run) -> None:
    """Say how a run ended that something else put an end to; may be repeated."""
    if run.is_of_issue:
        await IssueStatus(services, run).close()
        await tests_shown.close(services, run)
    else:
        await services.publisher.close(run)
