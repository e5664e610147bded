"""Tells the run of an issue what happened on the pull request it proposed: such events are messages to that run."""

from pydantic import JsonValue

from domain.runs import RepositoryRef, Run
from memory import outbox, runs, waits
from pipeline.going_on import go_on
from pipeline.journal import WorkflowJournal
from pipeline.services import Services


async def tell_owner(
    services: Services, journal: WorkflowJournal, repository: RepositoryRef, number: int, cause: str
) -> None:
    """Let the run that proposed a pull request look at it anew, if there is one and it is not over.

    :param cause: what happened; the same makes it look once.
    """

    async def find() -> JsonValue:
        owner = await outbox.proposed_by(services.database, repository.id, number)
        run = None if owner is None else await runs.get(services.database, owner)
        if run is None or run.state.is_final:
            return None
        await waits.end(services.database, run.id, services.clock.now())  # it would keep this look waiting, too
        return run.model_dump(mode="json")

    found = await journal.step("whose pull request it is", find)
    if found is not None:
        await go_on(Run.model_validate(found), cause)
