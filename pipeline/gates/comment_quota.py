"""Whether an account comments so much that Forge does not look at its comments for a while."""

from domain.commands import Sender
from domain.runs.run import RepositoryRef
from domain.value import Value
from memory.deliveries import deliveries
from pipeline.context import Services
from safety.review_quota import over_comment_quota


class TurnedAway(Value):
    """Why Forge ignores a comment; in journals.

    :param role: of its author at this moment.
    """

    role: str
    why: str


async def check_comment_quota(
    services: Services, guid: str, repository: RepositoryRef, sender: Sender
) -> TurnedAway | None:
    """Count a comment, and tell whether its author comments too much.

    GitHub is asked for their role only then, so nobody else waits for it.

    :param guid: GUID of its delivery.
    """
    commented = await deliveries.count_comment(services.database, guid, repository.id, sender.id, services.clock.now())
    if not commented.is_flood:
        return None
    role = await services.host.permission(repository, sender.login, sender.id)
    reason = over_comment_quota(commented, role)
    return None if reason is None else TurnedAway(role=role, why=reason.text)
