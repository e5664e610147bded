"""Issues: a label may ask for work, and what runs on one that was closed ends."""

from collections.abc import Mapping
from typing import Any

from domain.commands import AnyCommand, EndIssue, Ignored, LabelledIssue
from handlers.payloads import IssueSubject, LabelGiven, RepositoryEvent


class _Event(RepositoryEvent):
    issue: IssueSubject


class _IssueLabelEvent(_Event):
    label: LabelGiven


def handle(payload: Mapping[str, Any], _app_id: int) -> AnyCommand | Ignored:
    """See :func:`handlers.translate`. Apps close issues, too: nothing acts then, work only stops.

    Of the labels an issue is opened with GitHub tells one by one, so `opened` would ask a second time. What an edit
    changes is not what somebody asked for: a run is about the text as it was when they did.
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
    if sender.is_app:  # a label asks for work, and that only people do
        return Ignored(reason="sent_by_an_app")
    return LabelledIssue(
        repository=event.to_ref(),
        number=event.issue.number,
        label=event.label.name,
        sender=sender,
        seen=event.issue.to_seen(),
    )
