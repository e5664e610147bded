"""Comments on the diff of a pull request, and replies in their threads."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from domain.commands import AnyCommand, Ignored
from domain.conversation import CommentKind, CommentRef
from handlers.comments import PullRequest, Written, obey, unheard
from handlers.payloads import Id, RepositoryEvent


class _Comment(Written):
    created_at: datetime
    in_reply_to_id: Id | None = None


class _Event(RepositoryEvent):
    pull_request: PullRequest
    comment: _Comment


def handle(payload: Mapping[str, Any], _app_id: int) -> AnyCommand | Ignored:
    """See :func:`handlers.translate`."""
    event = _Event.model_validate(payload)
    comment, pull_request = event.comment, event.pull_request
    reference = CommentRef(
        kind=CommentKind.review_comment, id=comment.id, node_id=comment.node_id, thread=comment.in_reply_to_id
    )
    return unheard(event, comment, "created") or obey(
        event,
        comment,
        reference,
        written_at=comment.created_at,
        number=pull_request.number,
        opened_by=pull_request.user,
        head_sha=pull_request.head.sha,
    )
