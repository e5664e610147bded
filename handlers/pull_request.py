"""Pull requests and issues: opened, pushed to, labelled, made ready or a draft, closed, or out of a merge queue."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Literal

from pydantic import AwareDatetime, ValidationError

from domain import commands
from domain.commands import AnyCommand, Ignored, Repeat
from domain.github.commits import Push, Pusher
from domain.runs.run import Trigger
from handlers.payloads import (
    AccountView,
    Id,
    IssueSubject,
    LabelGiven,
    PullSubject,
    RepositoryEvent,
    Sha,
    Subject,
    View,
)

_REPEATS = {
    "opened": Repeat.never,
    "synchronize": Repeat.never,
    "edited": Repeat.never,
    "reopened": Repeat.always,
    "ready_for_review": Repeat.if_excluded,
    "converted_to_draft": Repeat.if_begun,
}


_REVERTS = re.compile(
    r"^Reverts (?P<owner>[^\s/#]{1,100})/(?P<name>[^\s/#]{1,100})#(?P<number>\d{1,9})\s*$", re.MULTILINE
)
"""What GitHub's Revert button writes into the body, under a title `Revert "…"`."""


_MERGED = frozenset({"MERGE", "ALREADY_MERGED"})
"""Why a merge queue lets go of what it merged."""


_LATEST = datetime.max.replace(tzinfo=UTC)  # for a push without a time: later than any approval


class _PullRequest(PullSubject):
    title: str = ""
    body: str | None = None


class _Changes(View):
    base: dict[str, Any] | None = None


class _Event(RepositoryEvent):
    pull_request: _PullRequest
    changes: _Changes = _Changes()
    before: Sha | None = None


class _Place(View):
    id: Id


class _ForkHead(View):
    sha: Sha
    repo: _Place | None = None
    user: _Place | None = None


class _OpenedFork(View):
    head: _ForkHead
    created_at: AwareDatetime | None = None


class _OpenedEvent(View):
    action: Literal["opened"]
    repository: _Place
    sender: AccountView
    pull_request: _OpenedFork


class _DequeuedEvent(_Event):
    reason: str = "UNKNOWN_REMOVAL_REASON"


class _LabelEvent(RepositoryEvent):
    label: LabelGiven


class _IssueEvent(RepositoryEvent):
    issue: IssueSubject


def handle(payload: Mapping[str, Any], _app_id: int) -> AnyCommand | Ignored:
    """See :func:`handlers.translate`."""
    event = _Event.model_validate(payload)
    number = event.pull_request.number
    if event.action == "closed":
        return commands.EndPullRequest(
            repository=event.to_ref(),
            number=number,
            reverts=_find_reverted(event),
            sender=event.sender.as_sender(),
            seen=event.pull_request.to_seen(),
        )
    if event.action == "labeled":
        return _handle_label(_LabelEvent.model_validate(payload), event.pull_request, event.pull_request.head.sha)
    if event.action == "dequeued":
        return _handle_dequeued(_DequeuedEvent.model_validate(payload))
    if event.action not in _REPEATS:
        return Ignored(reason="action_not_used")
    if event.action == "edited" and event.changes.base is None:
        return Ignored(reason="base_not_changed")
    return commands.ReviewPullRequest(
        repository=event.to_ref(),
        number=number,
        head_sha=event.pull_request.head.sha,
        trigger=Trigger.pull_request,
        repeat=_REPEATS[event.action],
        sender=event.sender.as_sender(),
        seen=event.pull_request.to_seen(),
        before_sha=event.before or "",
        pushed_at=(event.pull_request.updated_at or _LATEST) if event.action == "synchronize" else None,
    )


def handle_issue(payload: Mapping[str, Any], _app_id: int) -> AnyCommand | Ignored:
    """See :func:`handlers.translate`. An App may close an issue, too, because that only stops work.

    GitHub sends an event for each label that an issue is opened with, so `opened` would ask a second time. Edits are
    ignored: a run is about the text as it was when somebody asked.
    """
    event = _IssueEvent.model_validate(payload)
    if event.action == "labeled":
        return _handle_label(_LabelEvent.model_validate(payload), event.issue)
    if event.action != "closed":
        return Ignored(reason="action_not_used")
    return commands.EndIssue(
        repository=event.to_ref(),
        number=event.issue.number,
        sender=event.sender.as_sender(),
        seen=event.issue.to_seen(),
    )


def read_fork(payload: Mapping[str, Any], received_at: datetime) -> tuple[int, Sequence[Push]]:
    """The id of the repository, and who proposes there what a fork has; nothing for any other event.

    Nothing tells of pushes to a fork. What is in it counts for its owner and for who opened the pull request, also
    where somebody else brings the same commits to a branch later.

    :param received_at: counts where GitHub does not say when it was.
    """
    try:
        event = _OpenedEvent.model_validate(payload)
    except ValidationError:
        return 0, ()
    head, by = event.pull_request.head, event.sender
    if head.repo is not None and head.repo.id == event.repository.id:
        return 0, ()
    kind = Pusher.app if by.type == "Bot" else Pusher.proposal
    opened = Push(head.sha, "", by.id, kind, event.pull_request.created_at or received_at)
    is_owned = head.user is not None and head.user.id != by.id
    owned = [replace(opened, by_id=head.user.id, by=Pusher.proposal)] if is_owned and head.user else []
    return event.repository.id, (opened, *owned)


def _handle_dequeued(event: _DequeuedEvent) -> AnyCommand | Ignored:
    if event.reason in _MERGED:  # by the queue, as `closed` says
        return Ignored(reason="merged_by_the_queue")
    return commands.LeftMergeQueue(
        repository=event.to_ref(),
        number=event.pull_request.number,
        head_sha=event.pull_request.head.sha,
        reason=event.reason,
        sender=event.sender.as_sender(),
    )


def _handle_label(event: _LabelEvent, labelled: Subject, head_sha: str | None = None) -> AnyCommand | Ignored:
    sender = event.sender.as_sender()
    if sender.is_app:  # only people may ask for work
        return Ignored(reason="sent_by_an_app")
    return commands.LabelledIssue(
        repository=event.to_ref(),
        number=labelled.number,
        label=event.label.name,
        head_sha=head_sha,
        sender=sender,
        seen=labelled.to_seen(),
    )


def _find_reverted(event: _Event) -> int | None:
    """The pull request of this repository that this one reverts."""
    if not event.pull_request.title.startswith('Revert "'):
        return None
    found = _REVERTS.search(event.pull_request.body or "")
    where = event.to_ref()
    if found is None or f"{found['owner']}/{found['name']}".casefold() != where.full_name.casefold():
        return None
    number = int(found["number"])
    return number if number not in {0, event.pull_request.number} else None
