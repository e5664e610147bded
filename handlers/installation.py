"""Installations: ends the runs where the App lost its access; after a suspension, reports how they ended."""

from collections.abc import Mapping
from typing import Any

from domain.commands import AnyCommand, EndInstallation, Ignored, ResumeInstallation
from handlers.payloads import AccountView, Id, InstallationView, View


class _Removed(View):
    id: Id


class _Event(View):
    action: str
    installation: InstallationView
    sender: AccountView
    repositories_removed: tuple[_Removed, ...] = ()


def handle(payload: Mapping[str, Any], _app_id: int) -> AnyCommand | Ignored:
    """See :func:`handlers.translate`."""
    event = _Event.model_validate(payload)
    if event.action == "unsuspend":
        return ResumeInstallation(installation_id=event.installation.id, sender=event.sender.as_sender())
    if event.action not in {"deleted", "suspend"}:
        return Ignored(reason="action_not_used")
    return EndInstallation(
        installation_id=event.installation.id,
        repository_ids=None,
        why=event.action,
        sender=event.sender.as_sender(),
    )


def handle_repositories(payload: Mapping[str, Any], _app_id: int) -> AnyCommand | Ignored:
    """See :func:`handlers.translate`."""
    event = _Event.model_validate(payload)
    if event.action != "removed" or not event.repositories_removed:
        return Ignored(reason="action_not_used")
    return EndInstallation(
        installation_id=event.installation.id,
        repository_ids=tuple(repository.id for repository in event.repositories_removed),
        why=event.action,
        sender=event.sender.as_sender(),
    )
