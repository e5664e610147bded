"""Pushes to the default branch that may have changed the memory file."""

from collections.abc import Mapping
from typing import Any

from domain.commands import AnyCommand, Ignored, ReadMemoryFile
from domain.memories.memory_file import PATH
from handlers.payloads import RepositoryEvent, Sha, View

MOST_COMMITS = 2048
"""GitHub lists no more in a push: https://docs.github.com/webhooks/webhook-events-and-payloads#push."""


class _Commit(View):
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    modified: tuple[str, ...] = ()

    @property
    def paths(self) -> frozenset[str]:
        return frozenset((*self.added, *self.removed, *self.modified))


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
        return any(PATH in commit.paths for commit in self.commits)


def handle(payload: Mapping[str, Any], _app_id: int) -> AnyCommand | Ignored:
    """See :func:`handlers.translate`."""
    event = _Event.model_validate(payload)
    if event.ref != f"refs/heads/{event.repository.default_branch}" or event.deleted:
        return Ignored(reason="not_the_default_branch")
    if not event.may_change_file:
        return Ignored(reason="nothing_to_read")
    return ReadMemoryFile(repository=event.to_ref(), sender=event.sender.as_sender(), head_sha=event.after)
