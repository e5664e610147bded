"""Repositories: what runs in one that was deleted ends."""

from collections.abc import Mapping
from typing import Any

from domain.commands import AnyCommand, EndInstallation, Ignored
from handlers.payloads import RepositoryEvent


def handle(payload: Mapping[str, Any], _app_id: int) -> AnyCommand | Ignored:
    """See :func:`handlers.translate`. After a new name or owner the next event carries the new address."""
    event = RepositoryEvent.model_validate(payload)
    if event.action != "deleted":
        return Ignored(reason="not_used_yet")
    return EndInstallation(
        installation_id=event.installation.id,
        repository_ids=(event.repository.id,),
        why=event.action,
        sender=event.sender.as_sender(),
    )
