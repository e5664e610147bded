"""Dismisses findings, whoever says so and however: by command, in words, or by resolving their thread."""

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
    """Dismiss findings at once and show their check anew; each memory that taught, as it is shown, with the first of
    the findings it is about.

    Who may do so was decided before. May be repeated.

    :param cause: what the check is shown anew for.
    """
    now, configured = services.clock.now(), await load_memory_settings(services, repository)
    role = await services.host.permission(repository, sender.login, sender.id)
    where = (services.database, repository, number)
    taught = await dismissals.add(
        *where, found, sender, reason, now, role=role, learns=configured.enabled, most=configured.max
    )
    await update.update_verdict(services, repository, number, cause)
    return {shorten_id("M", memory): finding for memory, finding in taught.items()}
