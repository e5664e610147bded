"""Dismisses findings, for a command, a reply or a resolved thread, and forgets memories with what taught them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import structlog

from domain.commands import Sender
from domain.errors import HostFailure
from domain.memories import Memory
from domain.review.feedback import DismissalScope, FeedbackStatement, FindingFeedback, Word
from domain.review.findings import Finding
from domain.review.review import Remark
from domain.runs.run import RepositoryRef
from domain.slash import Dismiss
from domain.value import shorten_id
from memory import gates
from memory.learned import catalogue, feedback
from memory.learned.catalogue import MemoryKeeper
from memory.runs import runs
from pipeline.context import Services
from pipeline.gates.actor import load_actor_for
from pipeline.verdicts import update
from pipeline.verdicts.earlier_tests import load_approved
from pipeline.verdicts.suppression import load_memory_settings
from safety.authorization import is_waived
from safety.gates import list_answered, list_still_accepted

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class DismissalEffect:
    """What became of a dismissal.

    :param taught: the new memories by their short ids, each with its first finding.
    :param is_waived: the author dismissed findings of their own change, because nobody else is left who may.
    """

    taught: Mapping[str, Finding]
    is_waived: bool = False


async def dismiss(
    services: Services,
    repository: RepositoryRef,
    number: int,
    found: Remark,
    sender: Sender,
    reason: str,
    cause: str,
    *,
    scope: DismissalScope | None = None,
) -> DismissalEffect:
    """Dismiss findings and update their check.

    The caller checked the permission. May be repeated.

    :param cause: the delivery behind it.
    """
    configured = await load_memory_settings(services, repository)
    asked = Dismiss(reason=reason)
    actor = await load_actor_for(services, asked, repository, number, sender)
    is_own = is_waived(asked, actor.facts)
    head = "" if actor.pull_request is None else actor.pull_request.head_sha
    said = FeedbackStatement(sender, reason, services.clock.now(), actor.role, head, cause, scope, is_own)
    taught = await feedback.dismiss(
        services.database, repository, number, found, said, learns=configured.enabled, most=configured.max
    )
    await update.update_verdict(services, repository, number, cause)
    return DismissalEffect({shorten_id("M", memory): finding for memory, finding in taught.items()}, is_own)


async def is_confirmed(services: Services, repository: RepositoryRef, number: int, finding: Finding) -> bool:
    """Whether somebody said that a finding is right; then only a command dismisses it, which asks who may overrule."""
    said = await feedback.load_standing(services.database, repository.id, number, [finding])
    return any(each.word is Word.confirmed for each in said.values())


async def list_let_pass(
    services: Services, repository: RepositoryRef, number: int, found: Sequence[Finding]
) -> set[str]:
    """The fingerprints of the findings that somebody let pass with ``destructive``, as far as that holds now."""
    newest = await runs.find_newest(services.database, repository.id, number)
    if newest is None:
        return set()
    accepted = await load_approved(services, newest, number)
    here = list_answered(await gates.list_for_run(services.database, newest.id))
    return here | list_still_accepted(found, accepted)


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
        except HostFailure as error:  # its next review applies it
            log.warning("teaching.not_reconcluded", number=number, error=str(error))
