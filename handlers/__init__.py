"""Turns GitHub's events into commands: one module for each family of events, all listed here."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from pydantic import ValidationError

from domain.commands import AnyCommand, Ignored
from domain.github.commits import Push
from handlers import (
    checks,
    installation,
    issue_comment,
    issues,
    merge_group,
    pull_request,
    push,
    repository,
    review,
    review_comment,
    status,
    thread,
    workflow_run,
)

Handler = Callable[[Mapping[str, Any], int], AnyCommand | Ignored]
"""Takes the payload and our App's id."""

HANDLERS: Mapping[str, Handler] = {
    "pull_request": pull_request.handle,
    "check_run": checks.handle_run,
    "check_suite": checks.handle_suite,
    "workflow_run": workflow_run.handle,
    "status": status.handle,
    "merge_group": merge_group.handle,
    "push": push.handle,
    "repository": repository.handle,
    "installation": installation.handle,
    "installation_repositories": installation.handle_repositories,
    "issues": issues.handle,
    "issue_comment": issue_comment.handle,
    "pull_request_review": review.handle,
    "pull_request_review_comment": review_comment.handle,
    "pull_request_review_thread": thread.handle,
}
"""The events of ``app.yml``, and the two of installations, which GitHub sends to every App.

A third of these, ``installation_target``, is not used: every request goes to the owner that the newest event named.
"""

_SUBJECTS: Mapping[str, frozenset[str]] = {
    "pull_request": frozenset({"repository", "pull_request", "number"}),
    "check_run": frozenset({"repository", "check_run"}),
    "check_suite": frozenset({"repository", "check_suite"}),
    "workflow_run": frozenset({"repository", "workflow_run"}),
    "status": frozenset({"repository", "context"}),
    "merge_group": frozenset({"repository", "merge_group"}),
    "push": frozenset({"repository", "ref", "commits"}),
    "repository": frozenset({"repository"}),
    "installation": frozenset(),
    "installation_repositories": frozenset({"repositories_added", "repositories_removed"}),
    "issues": frozenset({"repository", "issue"}),
    "issue_comment": frozenset({"repository", "issue", "comment"}),
    "pull_request_review": frozenset({"repository", "pull_request", "review"}),
    "pull_request_review_comment": frozenset({"repository", "pull_request", "comment"}),
    "pull_request_review_thread": frozenset({"repository", "pull_request", "thread"}),
}
"""The fields of a payload that say what an event is about: each event has all of its own and none of another's.

https://docs.github.com/webhooks/webhook-events-and-payloads
"""

_SUBJECTS_OF_OTHERS = frozenset(
    {
        "account",
        "alert",
        "client_payload",
        "deployment",
        "discussion",
        "forkee",
        "hook",
        "key",
        "member",
        "membership",
        "package",
        "pusher_type",
        "release",
        "rule",
        "starred_at",
        "team",
        "workflow_job",
    }
)
"""The same of events that Forge does not handle and that have no subject of one it handles."""

_ALL_SUBJECTS = _SUBJECTS_OF_OTHERS.union(*_SUBJECTS.values())


def find_pushes(event: str, payload: Mapping[str, Any], received_at: datetime) -> tuple[int, Sequence[Push]]:
    """The id of the repository, and who brought which commits there; nothing if a webhook tells of none."""
    readers = {"push": push.read_push, "pull_request": pull_request.read_fork}
    return readers[event](payload, received_at) if event in readers else (0, ())


def translate(event: str, payload: Mapping[str, Any], app_id: int) -> AnyCommand | Ignored:
    """The command that a webhook asks for, or why it is ignored.

    The signature covers the body only, so a body that is not of the event it is sent as is ignored (T-W14).

    :param event: the ``X-GitHub-Event`` header.
    :param app_id: id of our App, whose own events never act.
    """
    handler = HANDLERS.get(event)
    if event == "ping":
        return Ignored(reason="ping")
    if handler is None:
        return Ignored(reason="unknown_event")
    subjects = _ALL_SUBJECTS & payload.keys()
    if subjects != _SUBJECTS[event]:
        return Ignored(reason="incomplete_payload" if subjects < _SUBJECTS[event] else "not_of_this_event")
    try:
        return handler(payload, app_id)
    except ValidationError:
        return Ignored(reason="incomplete_payload")
