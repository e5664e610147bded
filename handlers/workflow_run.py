"""Workflow runs: one that tests a head has ended."""

from collections.abc import Mapping
from typing import Any

from domain.commands import AnyCommand, ChecksEnded, Ignored
from domain.github.checks import TESTING_EVENTS
from handlers.payloads import RepositoryEvent, Sha, View


class _Run(View):
    head_sha: Sha
    event: str


class _Event(RepositoryEvent):
    workflow_run: _Run


def handle(payload: Mapping[str, Any], _app_id: int) -> AnyCommand | Ignored:
    """See :func:`handlers.translate`."""
    event = _Event.model_validate(payload)
    if event.action != "completed":
        return Ignored(reason="action_not_used")
    if event.workflow_run.event not in TESTING_EVENTS:
        return Ignored(reason="workflow_tests_no_head")
    return ChecksEnded(repository=event.to_ref(), head_sha=event.workflow_run.head_sha)
