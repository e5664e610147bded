"""Reviews of a pull request: the commands in their body, words that may be for Forge, and requested changes."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from domain.commands import AnyCommand, ChangesRequested, Ignored
from domain.github.conversation import CommentKind, CommentRef
from handlers.comments import NO_COMMAND, CommentView, PullRequest, build_command, build_remark, ignore_comment
from handlers.payloads import RepositoryEvent


class _Review(CommentView):
    submitted_at: datetime
    state: str = ""


class _Event(RepositoryEvent):
    pull_request: PullRequest
    review: _Review


def handle(payload: Mapping[str, Any], _app_id: int) -> AnyCommand | Ignored:
    """See :func:`handlers.translate`."""
    event = _Event.model_validate(payload)
    review, pull_request = event.review, event.pull_request
    reference = CommentRef(kind=CommentKind.review, id=review.id, node_id=review.node_id)
    obeyed = ignore_comment(event, review, "submitted") or build_command(
        event,
        review,
        reference,
        written_at=review.submitted_at,
        subject=pull_request,
        opened_by=pull_request.user,
        head_sha=pull_request.head.sha,
    )
    if obeyed != Ignored(reason=NO_COMMAND):
        return obeyed
    remark = build_remark(event, review, reference, pull_request)
    if review.state == "changes_requested":
        return ChangesRequested(
            repository=event.to_ref(),
            number=pull_request.number,
            head_sha=pull_request.head.sha,
            sender=event.sender.as_sender(),
            seen=pull_request.to_seen(),
            remark=remark,
        )
    return remark or obeyed
