"""Installations: welcomes new repositories, ends the runs where the App lost its access, and reports them later."""

from collections.abc import Mapping
from typing import Any

from domain.commands import AnyCommand, EndInstallation, Ignored, ResumeInstallation, WelcomeRepositories
from domain.runs.run import RepositoryRef
from handlers.payloads import AccountView, FullName, Id, InstallationView, View

_MOST_WELCOMED = 1_000
"""Repositories of one event that are welcomed, so that the command stays small."""


class _Removed(View):
    id: Id


class _Added(View):
    id: Id
    full_name: FullName


class _Installed(InstallationView):
    """An installation in an event of its own; other events show its id only."""

    app_id: Id
    repository_selection: str = ""


class _Event(View):
    action: str
    installation: _Installed
    sender: AccountView
    repositories: tuple[_Added, ...] | None = None
    repositories_added: tuple[_Added, ...] = ()
    repositories_removed: tuple[_Removed, ...] = ()


def handle(payload: Mapping[str, Any], _app_id: int) -> AnyCommand | Ignored:
    """See :func:`handlers.translate`."""
    event = _Event.model_validate(payload)
    if event.action == "created" and event.repositories is None:
        return Ignored(reason="repositories_not_told")
    if event.action == "created" and event.repositories:
        return _welcome(event, event.repositories)
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
    if event.action == "added" and event.repositories_added:
        return _welcome(event, event.repositories_added)
    if event.action != "removed" or not event.repositories_removed:
        return Ignored(reason="action_not_used")
    return EndInstallation(
        installation_id=event.installation.id,
        repository_ids=tuple(repository.id for repository in event.repositories_removed),
        why=event.action,
        sender=event.sender.as_sender(),
    )


def _welcome(event: _Event, added: tuple[_Added, ...]) -> WelcomeRepositories:
    return WelcomeRepositories(
        repositories=tuple(
            RepositoryRef(installation_id=event.installation.id, id=each.id, owner=owner, name=name)
            for each in added[:_MOST_WELCOMED]
            for owner, _, name in [each.full_name.partition("/")]
        ),
        is_chosen=event.installation.repository_selection == "selected",
        sender=event.sender.as_sender(),
    )
