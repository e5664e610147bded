"""Merge queues: our check must also report on the queue's temporary head, or the queue waits for ever."""

import re
from collections.abc import Mapping
from typing import Any

from domain.commands import AnyCommand, Ignored, ReportMergeGroup
from handlers.payloads import RepositoryEvent, Sha, View

_QUEUED = re.compile(r"(?:^|/)pr-(\d{1,9})-[0-9a-f]{7,64}$")  # refs/heads/gh-readonly-queue/BASE/pr-NUMBER-SHA


class _Group(View):
    head_sha: Sha
    head_ref: str
    base_ref: str = ""


class _Event(RepositoryEvent):
    merge_group: _Group


def handle(payload: Mapping[str, Any], _app_id: int) -> AnyCommand | Ignored:
    """See :func:`handlers.translate`."""
    event = _Event.model_validate(payload)
    if event.action != "checks_requested":
        return Ignored(reason="action_not_used")
    queued = _QUEUED.search(event.merge_group.head_ref)
    if queued is None:
        return Ignored(reason="unknown_merge_group")
    return ReportMergeGroup(
        repository=event.to_ref(),
        number=int(queued[1]),
        head_sha=event.merge_group.head_sha,
        base_ref=event.merge_group.base_ref.removeprefix("refs/heads/"),
        sender=event.sender.as_sender(),
    )
