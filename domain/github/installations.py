"""Installations of the App, what Forge says where it was installed, and GitHub's log of deliveries to it."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum

from domain.github.conversation import Issue
from domain.github.pull_requests import PullRequest
from domain.value import Value


class InstallationState(StrEnum):
    """Whether the App may read and write where it was installed."""

    active = "active"
    suspended = "suspended"  # its owner may resume it
    gone = "gone"  # it was uninstalled


MOST_ISSUES = 3
"""Repositories chosen at once that are welcomed, by an issue each; with more, these would be a flood."""


class RepositoryTraits(Value):
    """What GitHub says about a repository as a whole.

    :param has_commits: whether its default branch has one.
    """

    default_branch: str
    is_archived: bool = False
    is_fork: bool = False
    has_issues: bool = True
    has_commits: bool = True


class RepositoryOverview(Value):
    """What Forge can see of a repository, for people who meet it for the first time.

    :param languages: of its source, those with the most files first.
    :param linters: tools that would check its files.
    :param idle_linters: linters that are configured in the repository and that Forge does not run, by their files.
    :param tests: how its tests would be run, and why so; a sentence.
    :param missing: permissions that the installation lacks, as name and level.
    :param branch: the default branch.
    :param is_required: whether that branch requires the check of reviews; None if that cannot be known.
    :param model: the model that reads changes; empty if none is set up, or the repository wants none.
    :param keeps_code: the repository says that no model is to be asked.
    :param level: of automation.
    """

    languages: tuple[str, ...] = ()
    linters: tuple[str, ...] = ()
    idle_linters: Mapping[str, str] = {}
    tests: str = ""
    missing: tuple[str, ...] = ()
    branch: str
    is_required: bool | None = None
    model: str = ""
    keeps_code: bool = False
    level: int = 1


def find_missing(needed: Mapping[str, str], granted: Mapping[str, str]) -> tuple[str, ...]:
    """The permissions that are needed (name → level) and not granted, as ``name: level``."""
    levels = ("none", "read", "write", "admin")
    return tuple(
        f"{name}: {level}"
        for name, level in needed.items()
        if levels.index(granted.get(name, "none")) < levels.index(level)
    )


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
