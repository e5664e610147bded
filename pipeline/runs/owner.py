"""Knows the run of an issue by the pull request it proposed, and tells it what happened there: events are messages."""

from pydantic import JsonValue

from domain.runs.run import RepositoryRef, Run
from memory.runs import outbox, runs, waits
from pipeline.context import Services
from pipeline.durable.journal import WorkflowJournal
from pipeline.durable.queues import enqueue_resume


async def find_owner(services: Services, repository: RepositoryRef, number: int) -> Run | None:
    """The run that proposed a pull request and is not over."""
    owner = await outbox.find_proposing_run(services.database, repository.id, number)
    run = None if owner is None else await runs.get(services.database, owner)
    return None if run is None or run.state.is_final else run


async def wake_owner(
    services: Services, journal: WorkflowJournal, repository: RepositoryRef, number: int, cause: str
) -> None:
    """Let the run that proposed a pull request look at it anew, if there is one and it is not over.

    :param cause: what happened; the same makes it look once.
    """

    async def find() -> JsonValue:
        run = await find_owner(services, repository, number)
        if run is None:
            return None
        await waits.end(services.database, run.id, services.clock.now())  # it would keep this look waiting, too
        return run.model_dump(mode="json")

    found = await journal.step("whose pull request it is", find)
    if found is not None:
        await enqueue_resume(Run.model_validate(found), cause)
