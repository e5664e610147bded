"""Wakes the issue runs that wait for the repository's own workflows on the head they proposed."""

from domain.commands import ChecksEnded
from memory.runs import runs
from messages import deliveries as texts
from pipeline.deliveries.context import DeliveryContext
from pipeline.runs.wake_up import wake_owner


async def wake_owners(context: DeliveryContext, command: ChecksEnded) -> str:
    """Wake every run that proposed this head; how that ended."""
    numbers = await context.journal.step("whose head it is", _list_numbers, context, command)
    for number in numbers:
        await wake_owner(context.services, context.journal, command.repository, number, context.guid)
    return texts.describe_woken(numbers)


async def _list_numbers(context: DeliveryContext, command: ChecksEnded) -> list[int]:
    known = await runs.list_for_head(context.services.database, command.repository.id, command.head_sha)
    return sorted({run.number for run in known})
