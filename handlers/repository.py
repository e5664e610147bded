"""Repositories: ends the runs of a deleted one, and follows one that was renamed or transferred."""

from collections.abc import Mapping
from typing import Any

from domain.commands import AnyCommand, EndInstallation, FollowRepository, Ignored
from handlers.payloads import RepositoryEvent


class _Event(RepositoryEvent):
    """An event of the repository itself: nothing else is its subject."""

    label: None = None
    milestone: None = None
    project: None = None


def handle(payload: Mapping[str, Any], _app_id: int) -> AnyCommand | Ignored:
    """See :func:`handlers.translate`."""
    event = _Event.model_validate(payload)
    if event.action in {"renamed", "transferred"}:
        return FollowRepository(repository=event.to_ref(), sender=event.sender.as_sender())
    if event.action != "deleted":
        return Ignored(reason="action_not_used")
    return EndInstallation(
        installation_id=event.installation.id,
        repository_ids=(event.repository.id,),
        why=event.action,
        sender=event.sender.as_sender(),
    )
