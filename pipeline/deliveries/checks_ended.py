"""Tells who is concerned by the checks of a head that they have ended: runs of issues, and what was mended there."""

from domain.commands import ChecksEnded
from memory.runs import runs
from messages import deliveries as texts
from pipeline.deliveries.context import DeliveryContext
from pipeline.deliveries.red_proposals import take_up_red_proposal
from pipeline.durable.queues import enqueue_instruction
from pipeline.issue.instruction.awaited_checks import look_again
from pipeline.runs.status import wake_owner


async def wake_owners(context: DeliveryContext, command: ChecksEnded) -> str:
    """Wake every run that proposed this head, also one that is over if checks are red; mend again what is still red."""
    numbers = await context.journal.step("whose head it is", _list_numbers, context, command)
    for number in numbers:
        await wake_owner(context.services, context.journal, command.repository, number, context.guid)
        where = (context.services, command.repository, number, command.head_sha)
        again = await context.journal.step("is it still red", look_again, *where)
        if again is not None:
            await enqueue_instruction(again, command.repository.id, number)
        await take_up_red_proposal(context, command, number)
    return texts.describe_woken(numbers)


async def _list_numbers(context: DeliveryContext, command: ChecksEnded) -> list[int]:
    known = await runs.list_for_head(context.services.database, command.repository.id, command.head_sha)
    return sorted({run.number for run in known})
