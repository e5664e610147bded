"""Dismisses findings, for a command, a reply in words, or a resolved thread."""

from collections.abc import Mapping

from domain.commands import Sender
from domain.ids import shorten_id
from domain.review.findings import Finding
from domain.review.inline_comments import Remark
from domain.runs.run import RepositoryRef
from memory.findings import dismissals
from pipeline.context import Services
from pipeline.verdicts import update
from pipeline.verdicts.suppression import load_memory_settings


async def dismiss(
    services: Services,
    repository: RepositoryRef,
    number: int,
    found: Remark,
    sender: Sender,
    reason: str,
    cause: str,
) -> Mapping[str, Finding]:
    """Dismiss findings and update their check; the new memories by their short ids, each with its first finding.

    The caller checked the permission. May be repeated.

    :param cause: the delivery behind it.
    """
    now, configured = services.clock.now(), await load_memory_settings(services, repository)
    role = await services.host.permission(repository, sender.login, sender.id)
    where = (services.database, repository, number)
    taught = await dismissals.add(
        *where, found, sender, reason, now, role=role, learns=configured.enabled, most=configured.max
    )
    await update.update_verdict(services, repository, number, cause)
    return {shorten_id("M", memory): finding for memory, finding in taught.items()}
