"""Issues: what runs on one that was closed ends."""

from collections.abc import Mapping
from typing import Any

from domain.commands import AnyCommand, EndIssue, Ignored
from handlers.payloads import Number, RepositoryEvent, View


class _Issue(View):
    number: Number


class _Event(RepositoryEvent):
    issue: _Issue


def handle(payload: Mapping[str, Any], _app_id: int) -> AnyCommand | Ignored:
    """See :func:`handlers.translate`. Apps close issues, too: nothing acts then, work only stops."""
    event = _Event.model_validate(payload)
    if event.action != "closed":
        return Ignored(reason="not_used_yet")
    return EndIssue(repository=event.where(), number=event.issue.number, sender=event.sender.as_sender())
