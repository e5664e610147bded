"""Review threads that a person resolves or reopens."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from domain.commands import AnyCommand, Ignored, RecordThread
from handlers.comments import NodeId, PullRequest
from handlers.payloads import Id, RepositoryEvent, View

_ACTIONS = {"resolved": True, "unresolved": False}


class _Author(View):
    type: str | None = None


class _Comment(View):
    id: Id
    in_reply_to_id: Id | None = None
    user: _Author | None = None


class _Thread(View):
    node_id: NodeId
    comments: Annotated[tuple[_Comment, ...], Field(min_length=1)]


class _Event(RepositoryEvent):
    pull_request: PullRequest
    thread: _Thread
    updated_at: str | None = None


def handle(payload: Mapping[str, Any], _app_id: int) -> AnyCommand | Ignored:
    """See :func:`handlers.translate`. Only the database knows whether the thread is Forge's own."""
    event = _Event.model_validate(payload)
    if event.action not in _ACTIONS:
        return Ignored(reason="action_not_used")
    if event.sender.type != "User":
        return Ignored(reason="sent_by_an_app")
    root = event.thread.comments[0]
    if root.user is None or root.user.type not in {"Bot", None}:
        return Ignored(reason="thread_of_a_person")
    return RecordThread(
        repository=event.to_ref(),
        number=event.pull_request.number,
        root=root.in_reply_to_id or root.id,
        thread=event.thread.node_id,
        is_resolved=_ACTIONS[event.action],
        head_sha=event.pull_request.head.sha,
        sender=event.sender.as_sender(),
        is_dated=event.updated_at is not None,
    )
