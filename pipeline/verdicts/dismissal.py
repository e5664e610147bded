"""Dismisses findings, for a command, a reply in words, or a resolved thread, and tells which passed before."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from domain.commands import Sender
from domain.ids import shorten_id
from domain.review.feedback import DismissalScope, FeedbackStatement, Word
from domain.review.findings import Finding
from domain.review.inline_comments import Remark
from domain.runs.run import RepositoryRef
from domain.slash.commands import Dismiss
from memory import gates
from memory.learned import feedback
from memory.runs import runs
from pipeline.context import Services
from pipeline.gates.actor import load_actor_for
from pipeline.verdicts import update
from pipeline.verdicts.earlier_tests import load_approved
from pipeline.verdicts.suppression import load_memory_settings
from safety.authorization import is_waived
from safety.gates import list_answered, list_still_accepted


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
    past = await runs.list_for_pull_request(services.database, repository.id, number)
    if not past:
        return set()
    newest = past[0].run
    accepted = await load_approved(services, newest, number)
    here = list_answered(await gates.list_for_run(services.database, newest.id))
    return here | list_still_accepted(found, accepted)
