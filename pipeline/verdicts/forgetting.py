"""Forgets a memory that a person names, by command or on the dashboard, with the dismissals that taught it."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import structlog

from domain.commands import Sender
from domain.errors import CodeHostError, RateLimited
from domain.memories.memory import Memory
from domain.review.feedback import FindingFeedback
from domain.runs.run import RepositoryRef
from memory.learned import catalogue, feedback
from memory.learned.catalogue import MemoryKeeper
from pipeline.context import Services
from pipeline.verdicts import update

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class ForgottenMemory:
    """What forgetting a memory changed.

    :param undone: the dismissals that taught it, which are taken back.
    :param was_live: whether it counted until now.
    """

    undone: Sequence[FindingFeedback]
    was_live: bool


async def forget_memory(
    services: Services,
    repository: RepositoryRef,
    memory: Memory,
    sender: Sender,
    cause: str,
    number: int | None = None,
    *,
    is_pull_request: bool = False,
) -> ForgottenMemory:
    """Archive a memory, take back the dismissals that taught it, and update the verdicts they changed.

    :param cause: what asked for it; repeated, it changes nothing more.
    :param number: of the issue or pull request in which it was asked for; None: in none.
    :param is_pull_request: the number is that of a pull request, whose verdict is updated even if it is closed.
    :raises RateLimited: GitHub takes no more requests for now; the memory is forgotten.
    """
    where, now = (repository, number), services.clock.now()
    taught_in = await feedback.find_pull_requests(services.database, repository, memory.id)
    undone = await feedback.undo_by_memory(services.database, *where, memory.id, sender, now)
    was_live = await catalogue.archive(services.database, memory, MemoryKeeper(repository, sender, number), now)
    if taught_in:
        await _update_verdicts(services, repository, taught_in, cause, number if is_pull_request else None)
    return ForgottenMemory(undone, was_live)


async def _update_verdicts(
    services: Services, repository: RepositoryRef, numbers: Collection[int], cause: str, here: int | None
) -> None:
    """Here, and on other open pull requests: the verdict of a merged one stays."""
    if here is not None:
        await update.update_verdict(services, repository, here, cause)
    for number in sorted(set(numbers) - {here}):
        try:
            if (await services.host.pull_request(repository, number)).is_open:
                await update.update_verdict(services, repository, number, cause)
        except RateLimited:
            raise
        except CodeHostError as error:  # its next review applies it
            log.warning("teaching.not_reconcluded", number=number, error=str(error))
