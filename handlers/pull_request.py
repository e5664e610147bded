"""Pull requests: opened, pushed to, made ready, retargeted or closed."""

from collections.abc import Mapping
from typing import Any

from domain.commands import AnyCommand, EndPullRequest, Ignored, Repeat, ReviewPullRequest
from domain.runs import Trigger
from handlers.payloads import Number, RepositoryEvent, Sha, View

_REPEATS = {
    "opened": Repeat.never,
    "synchronize": Repeat.never,
    "edited": Repeat.never,
    "reopened": Repeat.always,
    "ready_for_review": Repeat.if_excluded,
}


class _Commit(View):
    sha: Sha


class _PullRequest(View):
    number: Number
    head: _Commit


class _Changes(View):
    base: dict[str, Any] | None = None


class _Event(RepositoryEvent):
    pull_request: _PullRequest
    changes: _Changes = _Changes()


def handle(payload: Mapping[str, Any], _app_id: int) -> AnyCommand | Ignored:
    """See :func:`handlers.translate`."""
    event = _Event.model_validate(payload)
    number = event.pull_request.number
    if event.action == "closed":
        return EndPullRequest(repository=event.where(), number=number, sender=event.sender.as_sender())
    if event.action not in _REPEATS:
        return Ignored(reason="action_not_used")
    if event.action == "edited" and event.changes.base is None:
        return Ignored(reason="base_not_changed")
    return ReviewPullRequest(
        repository=event.where(),
        number=number,
        head_sha=event.pull_request.head.sha,
        trigger=Trigger.pull_request,
        repeat=_REPEATS[event.action],
        sender=event.sender.as_sender(),
    )
