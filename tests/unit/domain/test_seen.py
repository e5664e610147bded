"""Whether an answer of GitHub's API is older than an event."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from domain.github.installations import EventSnapshot, is_stale
from domain.github.pull_requests import PullRequest

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
LIVE = PullRequest(
    number=1,
    title="Sell",
    is_open=True,
    is_draft=False,
    head_sha="a" * 40,
    head_ref="feature",
    head_repository_id=1,
    base_sha="b" * 40,
    base_ref="main",
    author_id=5,
    author_login="alice",
    author_is_bot=False,
    author_association="MEMBER",
    updated_at=NOW,
)


@pytest.mark.parametrize("seconds", [-1, 1])
def test_the_later_change_is_the_newer(seconds: int) -> None:
    seen = EventSnapshot(updated_at=NOW + timedelta(seconds=seconds), base_ref="next")
    assert is_stale(LIVE, seen) is (seconds > 0)


@pytest.mark.parametrize(
    "told", [{"is_open": False}, {"is_draft": True}, {"head_sha": "c" * 40}, {"base_ref": "next"}], ids=str
)
def test_within_a_second_what_they_say_tells(told: dict[str, Any]) -> None:
    assert is_stale(LIVE, EventSnapshot(updated_at=NOW, **told))
    assert not is_stale(LIVE, EventSnapshot(updated_at=NOW, **{name: getattr(LIVE, name) for name in told}))
