"""Wakes the issue run that opened a pull request, when something happened there."""

from domain.runs.run import RepositoryRef, Run
from memory.runs import outbox, runs, waits
from pipeline.context import Services
from pipeline.durable.journal import WorkflowJournal
from pipeline.durable.queues import enqueue_resume


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
