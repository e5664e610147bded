"""Comments on an issue, or in the conversation of a pull request."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from domain.commands import AnyCommand, Ignored, ReadRemark
from domain.github.conversation import CommentKind, CommentRef
from domain.text.escaping import strip_invisible
from domain.text.quotes import find_mentions, split_quotes
from handlers.comments import LONGEST_WORDS, NO_COMMAND, CommentView, build_command, ignore_comment
from handlers.markdown import MOST_READ
from handlers.payloads import AccountView, IssueSubject, RepositoryEvent

_MOST_QUOTES, _MOST_MENTIONS = 5, 20  # of a comment that are kept


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
    return _build_remark(event, reference) or obeyed if obeyed == Ignored(reason=NO_COMMAND) else obeyed


def _build_remark(event: _Event, reference: CommentRef) -> ReadRemark | None:
    """The words of a comment that quotes or mentions somebody, who may be Forge; None if it does neither."""
    quoted, words = split_quotes(strip_invisible((event.comment.body or "")[:MOST_READ]))
    mentioned = find_mentions(words)
    if not words or not (quoted or mentioned):
        return None
    return ReadRemark(
        repository=event.to_ref(),
        number=event.issue.number,
        is_pull_request=event.issue.pull_request is not None,
        comment=reference,
        words=words[:LONGEST_WORDS],
        quoted=tuple(passage[:LONGEST_WORDS] for passage in quoted[:_MOST_QUOTES]),
        mentioned=mentioned[:_MOST_MENTIONS],
        sender=event.sender.as_sender(),
        seen=event.issue.to_seen(),
    )
