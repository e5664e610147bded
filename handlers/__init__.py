"""Turns GitHub's events into commands: one module for each family of events, all listed here."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from pydantic import ValidationError

from domain.commands import AnyCommand, Ignored
from domain.github.commits import Push
from handlers import checks, comments, pull_request, repository

Handler = Callable[[Mapping[str, Any], int], AnyCommand | Ignored]
"""Takes the payload and our App's id."""


class HandledEvent(NamedTuple):
    """How an event is handled, and the fields of its payload that say what it is about.

    Each event has all of its own subjects and none of another's:
    https://docs.github.com/webhooks/webhook-events-and-payloads
    """

    handle: Handler
    subjects: frozenset[str]


def _about(handle: Handler, *subjects: str) -> HandledEvent:
    return HandledEvent(handle, frozenset(subjects))


EVENTS: Mapping[str, HandledEvent] = {
    "pull_request": _about(pull_request.handle, "repository", "pull_request", "number"),
    "check_run": _about(checks.handle_run, "repository", "check_run"),
    "check_suite": _about(checks.handle_suite, "repository", "check_suite"),
    "workflow_run": _about(checks.handle_workflow_run, "repository", "workflow_run"),
    "status": _about(checks.handle_status, "repository", "context"),
    "merge_group": _about(checks.handle_merge_group, "repository", "merge_group"),
    "push": _about(repository.handle_push, "repository", "ref", "commits"),
    "repository": _about(repository.handle_repository, "repository"),
    "installation": _about(repository.handle_installation),
    "installation_repositories": _about(
        repository.handle_installation_repositories, "repositories_added", "repositories_removed"
    ),
    "issues": _about(pull_request.handle_issue, "repository", "issue"),
    "issue_comment": _about(comments.handle_issue_comment, "repository", "issue", "comment"),
    "pull_request_review": _about(comments.handle_review, "repository", "pull_request", "review"),
    "pull_request_review_comment": _about(comments.handle_review_comment, "repository", "pull_request", "comment"),
    "pull_request_review_thread": _about(comments.handle_thread, "repository", "pull_request", "thread"),
}
"""The events of ``app.yml``, and the two of installations, which GitHub sends to every App.

A third of these, ``installation_target``, is not used: every request goes to the owner that the newest event named.
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

_ALL_SUBJECTS = _SUBJECTS_OF_OTHERS.union(*(event.subjects for event in EVENTS.values()))


def find_pushes(event: str, payload: Mapping[str, Any], received_at: datetime) -> tuple[int, Sequence[Push]]:
    """The id of the repository, and who brought which commits there; nothing if a webhook tells of none."""
    readers = {"push": repository.read_push, "pull_request": pull_request.read_fork}
    return readers[event](payload, received_at) if event in readers else (0, ())


def translate(event: str, payload: Mapping[str, Any], app_id: int) -> AnyCommand | Ignored:
    """The command that a webhook asks for, or why it is ignored.

    The signature covers the body only, so a body that is not of the event it is sent as is ignored (T-W14).

    :param event: the ``X-GitHub-Event`` header.
    :param app_id: id of our App, whose own events never act.
    """
    if event == "ping":
        return Ignored(reason="ping")
    if event not in EVENTS:
        return Ignored(reason="unknown_event")
    handle, wanted = EVENTS[event]
    subjects = _ALL_SUBJECTS & payload.keys()
    if subjects != wanted:
        return Ignored(reason="incomplete_payload" if subjects < wanted else "not_of_this_event")
    try:
        return handle(payload, app_id)
    except ValidationError:
        return Ignored(reason="incomplete_payload")
