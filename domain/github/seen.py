"""What an event showed of an issue or a pull request, and whether an answer of GitHub's API is older than that."""

from datetime import datetime

from pydantic import BaseModel, ConfigDict

from domain.github.issues import Issue
from domain.github.pull_requests import PullRequest


class EventSnapshot(BaseModel):
    """What an event carried of its issue or pull request; None where it did not say.

    :param updated_at: when it was last changed, to the second.
    :param head_sha: of a pull request, as the two below.
    :param wording: of an issue; see :func:`domain.github.issues.wording`.
    """

    model_config = ConfigDict(frozen=True)

    updated_at: datetime
    is_open: bool | None = None
    head_sha: str | None = None
    is_draft: bool | None = None
    base_ref: str | None = None
    wording: str | None = None


def is_stale(live: Issue | PullRequest, seen: EventSnapshot) -> bool:
    """Whether GitHub's API answers with what was there before the event: it may lag seconds behind its webhooks.

    A late event is no reason to wait: then the answer is the newer of the two. Within one second only what they say
    tells them apart, and not which came first.
    """
    if live.updated_at is not None and live.updated_at != seen.updated_at:
        return live.updated_at < seen.updated_at
    told = seen.model_dump(include={"is_open", "head_sha", "is_draft", "base_ref"}, exclude_none=True)
    return any(getattr(live, name, value) != value for name, value in told.items())


def is_edited(live: Issue, seen: EventSnapshot | None) -> bool:
    """Whether an issue says something else by now than what the event showed."""
    return seen is not None and seen.wording is not None and live.wording != seen.wording
