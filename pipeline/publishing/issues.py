"""Opens issues of Forge's own, each once, and labels them."""

from collections.abc import Sequence
from datetime import timedelta

from domain.runs.run import RepositoryRef
from domain.text.redaction import redact_outgoing
from memory.runs import outbox
from pipeline.context import Services
from pipeline.publishing.publisher import answer_once

_LOOKED_BACK = timedelta(days=7)
"""How long ago an attempt may lie after which nobody knows whether it opened the issue."""
_STEP, _KIND = "answer", "comment"  # under which the outbox keeps the answers of nobody's run


async def open_issue(
    services: Services,
    repository: RepositoryRef,
    key: str,
    marker: str,
    title: str,
    body: str,
    labels: Sequence[str] = (),
) -> int:
    """Open an issue, unless an earlier attempt did; its number.

    :param key: names it among all answers.
    :param marker: by which it is found; part of ``body``.
    :raises Forbidden: the installation lacks the permission.
    :raises NotFound: the repository is gone, or has no issues.
    """

    async def find() -> int | None:
        return await services.host.find_own_issue(repository, marker, services.clock.now() - _LOOKED_BACK)

    async def create() -> int:
        return await services.host.create_issue(repository, redact_outgoing(title), redact_outgoing(body), labels)

    await answer_once(services, key, create, find=find)
    number = await outbox.find_remote_id(services.database, key, _STEP, _KIND)
    assert number is not None  # it was recorded a moment ago
    return number


async def set_label(services: Services, repository: RepositoryRef, number: int, label: str, *, is_on: bool) -> None:
    """Put a label on an issue, or take it off; either may be repeated."""
    change = services.host.add_label if is_on else services.host.remove_label
    await change(repository, number, label)
