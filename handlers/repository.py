"""Repositories: the App installed or gone, another address, and pushes: who made them, and what they may change."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import Field, ValidationError

from domain import commands
from domain.commands import AnyCommand, Ignored
from domain.github.commits import Push, Pusher
from domain.runs.run import RepositoryRef
from handlers.payloads import AccountView, FullName, Id, InstallationView, RepositoryEvent, Sha, View
from safety.eligibility import is_flood


class _Removed(View):
    id: Id


class _Added(View):
    id: Id
    full_name: FullName


class _Installed(InstallationView):
    """An installation in an event of its own; other events show its id only."""

    app_id: Id
    repository_selection: str = ""


class _InstallationEvent(View):
    action: str
    installation: _Installed
    sender: AccountView
    repositories: tuple[_Added, ...] | None = None
    repositories_added: tuple[_Added, ...] = ()
    repositories_removed: tuple[_Removed, ...] = ()


def handle_installation(payload: Mapping[str, Any], _app_id: int) -> AnyCommand | Ignored:
    """See :func:`handlers.translate`."""
    event = _InstallationEvent.model_validate(payload)
    if event.action == "created" and event.repositories is None:
        return Ignored(reason="repositories_not_told")
    if event.action == "created" and event.repositories:
        return _welcome(event, event.repositories)
    if event.action == "unsuspend":
        return commands.ResumeInstallation(installation_id=event.installation.id, sender=event.sender.as_sender())
    if event.action not in {"deleted", "suspend"}:
        return Ignored(reason="action_not_used")
    return commands.EndInstallation(
        installation_id=event.installation.id,
        repository_ids=None,
        why=event.action,
        sender=event.sender.as_sender(),
    )


def handle_installation_repositories(payload: Mapping[str, Any], _app_id: int) -> AnyCommand | Ignored:
    """See :func:`handlers.translate`."""
    event = _InstallationEvent.model_validate(payload)
    if event.action == "added" and event.repositories_added:
        return _welcome(event, event.repositories_added)
    if event.action != "removed" or not event.repositories_removed:
        return Ignored(reason="action_not_used")
    return commands.EndInstallation(
        installation_id=event.installation.id,
        repository_ids=tuple(repository.id for repository in event.repositories_removed),
        why=event.action,
        sender=event.sender.as_sender(),
    )


def _welcome(event: _InstallationEvent, added: tuple[_Added, ...]) -> commands.WelcomeRepositories | Ignored:
    if is_flood(len(added), chosen=event.installation.repository_selection == "selected"):
        return Ignored(reason="too_many_to_welcome")
    return commands.WelcomeRepositories(
        repositories=tuple(
            RepositoryRef(installation_id=event.installation.id, id=each.id, owner=owner, name=name)
            for each in added
            for owner, _, name in [each.full_name.partition("/")]
        ),
        sender=event.sender.as_sender(),
    )


class _RepositoryEvent(RepositoryEvent):
    """An event of the repository itself: nothing else is its subject."""

    label: None = None
    milestone: None = None
    project: None = None


def handle_repository(payload: Mapping[str, Any], _app_id: int) -> AnyCommand | Ignored:
    """See :func:`handlers.translate`."""
    event = _RepositoryEvent.model_validate(payload)
    if event.action in {"renamed", "transferred"}:
        return commands.FollowRepository(repository=event.to_ref(), sender=event.sender.as_sender())
    if event.action != "deleted":
        return Ignored(reason="action_not_used")
    return commands.EndInstallation(
        installation_id=event.installation.id,
        repository_ids=(event.repository.id,),
        why=event.action,
        sender=event.sender.as_sender(),
    )


_BRANCH, _TAG = "refs/heads/", "refs/tags/"


_Seconds = Annotated[int, Field(strict=True, ge=0, le=253402300799)]  # since 1970


class _Account(View):
    id: Id
    type: str = "User"


class _Repository(View):
    id: Id
    pushed_at: _Seconds | str | None = None  # elsewhere than in pushes a text


class _PushedCommit(View):
    """A commit that a push brought; ``distinct`` is one that no push brought before."""

    id: Sha
    distinct: bool = True


class _PushEvent(View):
    ref: str
    before: Sha
    after: Sha
    forced: bool = False
    commits: tuple[_PushedCommit, ...] = ()
    head_commit: _PushedCommit | None = None
    repository: _Repository
    sender: _Account | None = None

    @property
    def by(self) -> Pusher:
        if self.sender is None:
            return Pusher.unknown
        return Pusher.app if self.sender.type == "Bot" else Pusher.person


class _BranchPushEvent(RepositoryEvent):
    ref: str
    forced: bool = False
    deleted: bool = False


def handle_push(payload: Mapping[str, Any], _app_id: int) -> AnyCommand | Ignored:
    """See :func:`handlers.translate`."""
    event = _BranchPushEvent.model_validate(payload)
    if not event.forced or event.deleted or not event.ref.startswith(_BRANCH):
        return Ignored(reason="nothing_rewritten")
    branch = event.ref.removeprefix(_BRANCH)
    return commands.FollowForcedPush(repository=event.to_ref(), sender=event.sender.as_sender(), branch=branch)


def read_push(payload: Mapping[str, Any], received_at: datetime) -> tuple[int, Sequence[Push]]:
    """The id of the repository, and who brought each commit; nothing for a deletion, or an incomplete payload.

    Each commit, not only the head: somebody else may make a branch of one in the middle, or of a tag. A tag that moves
    overwrites nothing, and may point to an object that names the commit.

    :param received_at: counts where GitHub does not say when it was.
    """
    try:
        event = _PushEvent.model_validate(payload)
    except ValidationError:
        return 0, ()
    is_tag = event.ref.startswith(_TAG)
    if not (is_tag or event.ref.startswith(_BRANCH)) or not event.after.strip("0"):
        return 0, ()
    is_new = is_tag or not event.before.strip("0")
    at = event.repository.pushed_at
    head = Push(
        after=event.head_commit.id if is_tag and event.head_commit else event.after,
        before="" if is_new else event.before,
        by_id=0 if event.sender is None else event.sender.id,
        by=event.by,
        at=datetime.fromtimestamp(at, UTC) if isinstance(at, int) else received_at,
    )
    brought = dict.fromkeys(each.id for each in event.commits if each.distinct and each.id != head.after)
    return event.repository.id, (head, *(replace(head, after=sha) for sha in brought))
