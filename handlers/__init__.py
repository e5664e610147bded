"""Turns GitHub's events into commands: one module for each family of events, all listed here."""

from collections.abc import Callable, Mapping
from typing import Any

from pydantic import ValidationError

from domain.commands import AnyCommand, Ignored
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


def translate(event: str, payload: Mapping[str, Any], app_id: int) -> AnyCommand | Ignored:
    """The command that a webhook asks for, or why it is ignored.

    :param event: the ``X-GitHub-Event`` header.
    :param app_id: id of our App, whose own events never act.
    """
    handler = HANDLERS.get(event)
    if event == "ping":
        return Ignored(reason="ping")
    if handler is None:
        return Ignored(reason="unknown_event")
    try:
        return handler(payload, app_id)
    except ValidationError:
        return Ignored(reason="incomplete_payload")
