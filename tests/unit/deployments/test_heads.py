"""Where a branch was at a time, by the pushes that GitHub lists."""

from datetime import UTC, datetime, timedelta

import pytest

from domain.github.commits import Push, Pusher, find_head_at

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


def push(after: str, before: str, minutes: int) -> Push:
    return Push(after, before, 1, Pusher.person, NOON + timedelta(minutes=minutes))


PUSHED = [push("c", "b", 10), push("b", "a", 5), push("a", "", 0)]


@pytest.mark.parametrize(
    ("minutes", "head"), [(60, "c"), (10, "c"), (9, "b"), (5, "b"), (4, "a"), (0, "a"), (-1, None)]
)
def test_the_last_push_before_counts(minutes: int, head: str | None) -> None:
    assert find_head_at(PUSHED, "c", NOON + timedelta(minutes=minutes)) == head


def test_where_a_push_is_missing_nothing_is_known() -> None:
    assert find_head_at(PUSHED, "d", NOON + timedelta(minutes=60)) is None  # the newest is not listed yet
    assert find_head_at([PUSHED[0], PUSHED[2]], "c", NOON) is None
    assert find_head_at(PUSHED[:1], "c", NOON) == "b"  # the list need not go further back
