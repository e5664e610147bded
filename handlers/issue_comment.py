"""Comments on an issue, or in the conversation of a pull request."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from domain.commands import AnyCommand, Ignored
from domain.github.conversation import CommentKind, CommentRef
from handlers.comments import NO_COMMAND, CommentView, build_command, build_remark, ignore_comment
from handlers.payloads import AccountView, IssueSubject, RepositoryEvent


class _Issue(IssueSubject):
    user: AccountView | None = None
    pull_request: dict[str, Any] | None = None


class _Comment(CommentView):
    created_at: datetime


class _Event(RepositoryEvent):
    issue: _Issue
    comment: _Comment


def handle(payload: Mapping[str, Any], _app_id: int) -> AnyCommand | Ignored:
    """See :func:`handlers.translate`."""
    event = _Event.model_validate(payload)
    comment = event.comment
    reference = CommentRef(kind=CommentKind.issue_comment, id=comment.id, node_id=comment.node_id)
    obeyed = ignore_comment(event, comment, "created") or build_command(
        event,
        comment,
        reference,
        written_at=comment.created_at,
        subject=event.issue,
        opened_by=event.issue.user,
        head_sha=None,
        is_pull_request=event.issue.pull_request is not None,
    )
    if obeyed != Ignored(reason=NO_COMMAND):
        return obeyed
    is_pull_request = event.issue.pull_request is not None
    return build_remark(event, comment, reference, event.issue, is_pull_request=is_pull_request) or obeyed
