"""Turns GitHub's events into commands: one module for each family of events, all listed here."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from pydantic import ValidationError

from domain.commands import AnyCommand, Ignored
from domain.github.pushes import Push
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

NOT_USED_YET = frozenset(
    {
        "installation_target",
        "deployment_status",
    }
)
"""Events that the App subscribes to already and that later versions need."""


def find_push(event: str, payload: Mapping[str, Any], received_at: datetime) -> tuple[int, Push] | None:
    """The id of the repository, and who moved a branch; None if a webhook tells of nothing like that."""
    return push.read_push(payload, received_at) if event == "push" else None


def translate(event: str, payload: Mapping[str, Any], app_id: int) -> AnyCommand | Ignored:
    """The command that a webhook asks for, or why it is ignored.

    :param event: the ``X-GitHub-Event`` header.
    :param app_id: id of our App, whose own events never act.
    """
    handler = HANDLERS.get(event)
    if event == "ping":
        return Ignored(reason="ping")
    if handler is None:
        return Ignored(reason="not_used_yet" if event in NOT_USED_YET else "unknown_event")
    try:
        return handler(payload, app_id)
    except ValidationError:
        return Ignored(reason="incomplete_payload")
