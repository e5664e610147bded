"""Reviews of a pull request: what their body asks."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from domain.commands import AnyCommand, Ignored
from domain.conversation import CommentKind, CommentRef
from handlers.comments import PullRequest, Written, obey, unheard
from handlers.payloads import RepositoryEvent


class _Review(Written):
    submitted_at: datetime


class _Event(RepositoryEvent):
    pull_request: PullRequest
    review: _Review


def handle(payload: Mapping[str, Any], _app_id: int) -> AnyCommand | Ignored:
    """See :func:`handlers.translate`."""
    event = _Event.model_validate(payload)
    review, pull_request = event.review, event.pull_request
    return unheard(event, review, "submitted") or obey(
        event,
        review,
        CommentRef(kind=CommentKind.review, id=review.id, node_id=review.node_id),
        written_at=review.submitted_at,
        number=pull_request.number,
        opened_by=pull_request.user,
        head_sha=pull_request.head.sha,
    )
