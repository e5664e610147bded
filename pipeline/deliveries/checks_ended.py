"""Lets the runs of issues know that workflows of the repository's own ended on the head they proposed."""

from typing import cast

from pydantic import JsonValue

from domain.commands import ChecksEnded
from memory.runs import runs
from pipeline.context import Services
from pipeline.durable.journal import WorkflowJournal
from pipeline.runs.owner import wake_owner


async def wake_owners(services: Services, journal: WorkflowJournal, command: ChecksEnded, cause: str) -> str:
    """Have whoever proposed the head look at its results; what became of it.

    :param cause: the delivery.
    """

    async def find() -> JsonValue:
        known = await runs.list_for_head(services.database, command.repository.id, command.head_sha)
        return [*sorted({run.number for run in known})]

    numbers = cast(list[int], await journal.step("whose head it is", find))
    for number in numbers:
        await wake_owner(services, journal, command.repository, number, cause)
    return f"told of pull request {', '.join(map(str, numbers))}" if numbers else "no run knows this head"
