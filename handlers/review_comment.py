"""Comments on the diff of a pull request, and replies in their threads."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from domain.commands import AnyCommand, Ignored, ReadReply
from domain.github.conversation import CommentKind, CommentRef
from domain.slash import LONGEST_WORDS
from domain.text.escaping import strip_invisible
from handlers.comments import NO_COMMAND, CommentView, PullRequest, build_command, ignore_comment
from handlers.payloads import Id, RepositoryEvent


class _Comment(CommentView):
    created_at: datetime
    in_reply_to_id: Id | None = None
    path: str
    line: Id | None = None


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
    ignored = ignore_comment(event, comment, "created")
    if ignored is not None:
        return ignored
    obeyed = build_command(
        event,
        comment,
        reference,
        written_at=comment.created_at,
        subject=pull_request,
        opened_by=pull_request.user,
        head_sha=pull_request.head.sha,
        path=comment.path,
        line=comment.line,
    )
    if obeyed != Ignored(reason=NO_COMMAND) or not strip_invisible(comment.body or "").strip():
        return obeyed
    return ReadReply(
        repository=event.to_ref(),
        number=pull_request.number,
        comment=reference,
        words=(comment.body or "")[:LONGEST_WORDS],
        path=comment.path,
        line=comment.line,
        head_sha=pull_request.head.sha,
        opened_by=pull_request.user.id if pull_request.user else None,
        sender=event.sender.as_sender(),
    )
