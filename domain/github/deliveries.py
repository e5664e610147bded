"""What GitHub delivers: its own log of what it attempted, and the state of an issue or pull request in an event."""

from datetime import datetime

from domain.github.conversation import Issue
from domain.github.pull_requests import PullRequest
from domain.value import Value


class DeliveryAttempt(Value):
    """One attempt of GitHub to deliver an event; all attempts at one event share a GUID.

    :param status_code: of the answer; 0 where there was none.
    """

    id: int
    guid: str
    event: str
    at: datetime
    status_code: int

    @property
    def is_answered(self) -> bool:
        """Whether the attempt was answered with 2xx."""
        return 200 <= self.status_code < 300


class AttemptsPage(Value):
    """A page of GitHub's log of deliveries, newest first; ``following`` leads to the next one."""

    attempts: tuple[DeliveryAttempt, ...]
    following: str | None


class EventSnapshot(Value):
    """The fields of an issue or pull request in an event; None if missing.

    :param updated_at: when it was last changed, to the second.
    :param head_sha: of a pull request, as the two below.
    :param wording: of an issue; see :func:`domain.github.conversation.digest_wording`.
    """

    updated_at: datetime
    is_open: bool | None = None
    head_sha: str | None = None
    is_draft: bool | None = None
    base_ref: str | None = None
    wording: str | None = None


def is_stale(live: Issue | PullRequest, seen: EventSnapshot) -> bool:
    """Whether GitHub's API shows the state before the event: it may lag seconds behind its webhooks.

    A late event is no reason to wait, since then the answer is newer. Within the same second
    only the content differs, not the order.
    """
    if live.updated_at is not None and live.updated_at != seen.updated_at:
        return live.updated_at < seen.updated_at
    fields = seen.model_dump(include={"is_open", "head_sha", "is_draft", "base_ref"}, exclude_none=True)
    return any(getattr(live, name, value) != value for name, value in fields.items())


def is_edited(live: Issue, seen: EventSnapshot | None) -> bool:
    """Whether an issue has been edited since the event."""
    return seen is not None and seen.wording is not None and live.wording != seen.wording
