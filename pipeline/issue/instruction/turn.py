"""Gives the next instruction on a pull request its turn."""

from domain.runs.run import Run
from memory.runs import instructions
from pipeline.context import Services
from pipeline.durable.journal import WorkflowJournal
from pipeline.durable.queues import enqueue_resume


async def wake_next(services: Services, journal: WorkflowJournal, run: Run, cause: str) -> None:
    """Queue the instruction that waits for this one, if this one is over.

    :param cause: the execution that ended; the same one queues it once.
    """
    waiting = await journal.step("whose turn it is", instructions.find_next, services.database, run)
    if waiting is not None:
        await enqueue_resume(waiting, f"after {cause}")
