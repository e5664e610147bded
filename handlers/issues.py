"""Issues: a label may ask for work, and closing an issue ends its runs."""

from collections.abc import Mapping
from typing import Any

from domain.commands import AnyCommand, EndIssue, Ignored, LabelledIssue
from handlers.payloads import IssueSubject, LabelGiven, RepositoryEvent


class _Event(RepositoryEvent):
    issue: IssueSubject


class _IssueLabelEvent(_Event):
    label: LabelGiven


def handle(payload: Mapping[str, Any], _app_id: int) -> AnyCommand | Ignored:
    """See :func:`handlers.translate`. An App may close an issue, too, because that only stops work.

    GitHub sends an event for each label that an issue is opened with, so `opened` would ask a second time. Edits are
    ignored: a run is about the text as it was when somebody asked.
    """
    event = _Event.model_validate(payload)
    if event.action == "labeled":
        return _handle_label(_IssueLabelEvent.model_validate(payload))
    if event.action != "closed":
        return Ignored(reason="action_not_used")
    return EndIssue(
        repository=event.to_ref(),
        number=event.issue.number,
        sender=event.sender.as_sender(),
        seen=event.issue.to_seen(),
    )


def _handle_label(event: _IssueLabelEvent) -> AnyCommand | Ignored:
    sender = event.sender.as_sender()
    if sender.is_app:  # only people may ask for work
        return Ignored(reason="sent_by_an_app")
    return LabelledIssue(
        repository=event.to_ref(),
        number=event.issue.number,
        label=event.label.name,
        sender=sender,
        seen=event.issue.to_seen(),
    )
