"""Pushes: who made them, and which of the default branch may have changed the memory file."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import Field, ValidationError

from domain.commands import AnyCommand, Ignored, ReadMemoryFile
from domain.github.pushes import Push, Pusher
from domain.memories.memory_file import PATH
from handlers.payloads import Id, RepositoryEvent, Sha, View

MOST_COMMITS = 2048
"""GitHub lists no more in a push: https://docs.github.com/webhooks/webhook-events-and-payloads#push."""


_BRANCH = "refs/heads/"


_Seconds = Annotated[int, Field(strict=True, ge=0, le=253402300799)]  # since 1970


class _Account(View):
    id: Id
    type: str = "User"


class _Repository(View):
    id: Id
    pushed_at: _Seconds | str | None = None  # elsewhere than in pushes a text


class _PushEvent(View):
    ref: str
    before: Sha
    after: Sha
    forced: bool = False
    repository: _Repository
    sender: _Account | None = None

    @property
    def by(self) -> Pusher:
        if self.sender is None:
            return Pusher.unknown
        return Pusher.app if self.sender.type == "Bot" else Pusher.person


class _Commit(View):
    """What a commit changed; GitHub may leave each list out."""

    added: tuple[str, ...] | None = None
    removed: tuple[str, ...] | None = None
    modified: tuple[str, ...] | None = None

    @property
    def may_change_file(self) -> bool:
        lists = (self.added, self.removed, self.modified)
        return any(each is None or PATH in each for each in lists)


class _Event(RepositoryEvent):
    ref: str
    after: Sha | None = None
    forced: bool = False
    deleted: bool = False
    commits: tuple[_Commit, ...] = ()

    @property
    def may_change_file(self) -> bool:
        """Whether the push may change the memory file. The commits of a forced push do not show what it removed."""
        if self.forced or len(self.commits) >= MOST_COMMITS:
            return True
        return any(commit.may_change_file for commit in self.commits)


def handle(payload: Mapping[str, Any], _app_id: int) -> AnyCommand | Ignored:
    """See :func:`handlers.translate`."""
    event = _Event.model_validate(payload)
    if event.ref != f"refs/heads/{event.repository.default_branch}" or event.deleted:
        return Ignored(reason="not_the_default_branch")
    if not event.may_change_file:
        return Ignored(reason="nothing_to_read")
    return ReadMemoryFile(repository=event.to_ref(), sender=event.sender.as_sender(), head_sha=event.after)


def read_push(payload: Mapping[str, Any], received_at: datetime) -> tuple[int, Push] | None:
    """The id of the repository, and who moved a branch; None for a tag, a deletion, or an incomplete payload.

    :param received_at: counts where GitHub does not say when it was.
    """
    try:
        event = _PushEvent.model_validate(payload)
    except ValidationError:
        return None
    if not event.ref.startswith(_BRANCH) or not event.after.strip("0"):
        return None
    is_new = not event.before.strip("0")
    at = event.repository.pushed_at
    return event.repository.id, Push(
        after=event.after,
        before="" if is_new else event.before,
        by_id=0 if event.sender is None else event.sender.id,
        by=event.by,
        at=datetime.fromtimestamp(at, UTC) if isinstance(at, int) else received_at,
    )
