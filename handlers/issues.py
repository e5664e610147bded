"""Issues: a label may ask for work, and what runs on one that was closed ends."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from domain.commands import AnyCommand, EndIssue, Ignored, LabelledIssue
from handlers.payloads import RepositoryEvent, Subject, View


class _Event(RepositoryEvent):
    issue: Subject


class _Label(View):
    name: Annotated[str, Field(min_length=1, max_length=200)]


class _Labelled(_Event):
    label: _Label


def handle(payload: Mapping[str, Any], _app_id: int) -> AnyCommand | Ignored:
    """See :func:`handlers.translate`. Apps close issues, too: nothing acts then, work only stops."""
    event = _Event.model_validate(payload)
    if event.action == "labeled":
        return _labelled(_Labelled.model_validate(payload))
    if event.action != "closed":
        return Ignored(reason="not_used_yet")
    return EndIssue(
        repository=event.where(),
        number=event.issue.number,
        sender=event.sender.as_sender(),
        seen=event.issue.seen(),
    )


def _labelled(event: _Labelled) -> AnyCommand | Ignored:
    sender = event.sender.as_sender()
    if sender.is_app:  # a label asks for work, and that only people do
        return Ignored(reason="sent_by_an_app")
    return LabelledIssue(
        repository=event.where(),
        number=event.issue.number,
        label=event.label.name,
        sender=sender,
        seen=event.issue.seen(),
    )
