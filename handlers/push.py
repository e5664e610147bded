"""Pushes: who made them, which rewrote a branch, and which may have changed the memory file."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import Field, ValidationError

from domain.commands import AnyCommand, FollowForcedPush, Ignored, ReadMemoryFile
from domain.github.commits import Push, Pusher
from domain.text.memory_file import PATH
from handlers.payloads import Id, RepositoryEvent, Sha, View

MOST_COMMITS = 2048
"""GitHub lists no more in a push: https://docs.github.com/webhooks/webhook-events-and-payloads#push."""


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
        """Whether the push may change the memory file."""
        return len(self.commits) >= MOST_COMMITS or any(commit.may_change_file for commit in self.commits)


def handle(payload: Mapping[str, Any], _app_id: int) -> AnyCommand | Ignored:
    """See :func:`handlers.translate`."""
    event = _Event.model_validate(payload)
    is_default = event.ref == f"{_BRANCH}{event.repository.default_branch}"
    repository, sender = event.to_ref(), event.sender.as_sender()
    if event.forced and not event.deleted and event.ref.startswith(_BRANCH):
        branch = event.ref.removeprefix(_BRANCH)
        return FollowForcedPush(
            repository=repository, sender=sender, branch=branch, head_sha=event.after, is_default=is_default
        )
    if not is_default or event.deleted:
        return Ignored(reason="not_the_default_branch")
    if not event.may_change_file:
        return Ignored(reason="nothing_to_read")
    return ReadMemoryFile(repository=repository, sender=sender, head_sha=event.after)


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
