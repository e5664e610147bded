"""Commit statuses, as older services report them: one that is not pending any more has ended."""

from collections.abc import Mapping
from typing import Any

from domain.commands import AnyCommand, ChecksEnded, Ignored
from handlers.payloads import RepositoryEvent, Sha


class _Event(RepositoryEvent):
    sha: Sha
    state: str


def handle(payload: Mapping[str, Any], _app_id: int) -> AnyCommand | Ignored:
    """See :func:`handlers.translate`."""
    event = _Event.model_validate(payload)
    if event.state == "pending":
        return Ignored(reason="status_pending")
    return ChecksEnded(repository=event.to_ref(), head_sha=event.sha)
