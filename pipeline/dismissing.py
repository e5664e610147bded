"""Dismisses a finding, whoever says so and however: by command, in words, or by resolving its thread."""

from domain.commands import Sender
from domain.findings import Finding
from domain.ids import short
from domain.runs import RepositoryRef
from memory import dismissals
from pipeline import reconclude
from pipeline.heeding import wanted
from pipeline.services import Services


async def dismiss(
    services: Services,
    repository: RepositoryRef,
    number: int,
    finding: Finding,
    sender: Sender,
    reason: str,
    cause: str,
) -> str:
    """Dismiss a finding and show its check anew; the memory that taught, as it is shown, empty if nothing is learned.

    Who may do so was decided before. May be repeated.

    :param cause: what the check is shown anew for.
    """
    now, configured = services.clock.now(), await wanted(services, repository)
    role = await services.host.permission(repository, sender.login, sender.id)
    where = (services.database, repository, number)
    memory = await dismissals.add(
        *where, finding, sender, reason, now, role=role, learns=configured.enabled, most=configured.max
    )
    await reconclude.check(services, repository, number, cause)
    return short("M", memory) if memory else ""
