"""How fast an installation may write: no minute and no hour ever has more than GitHub allows."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from safety.github_limits import PER_HOUR, PER_MINUTE, Importance, Rate, WritesSpent, take_turn

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
FRESH = WritesSpent(NOON, NOON)
STEADY = Rate(timedelta(seconds=1))


def write_times(rate: Rate, pauses: list[float], importance: Importance = Importance.awaited) -> list[datetime]:
    """When writes that create content were made by someone who asks again after each of these pauses, in seconds."""
    spent, now, at = FRESH, NOON, list[datetime]()
    for pause in pauses:
        now += timedelta(seconds=pause)
        asked = take_turn(spent, rate, importance, now, creates=True)
        spent = asked.spent
        if not asked.wait:
            at.append(now)
    return at


@given(st.lists(st.floats(0, 30), max_size=300), st.sampled_from([0.76, 1.0, 2.5, 10.0]))
def test_no_minute_and_no_hour_has_too_many(pauses: list[float], interval: float) -> None:
    at = write_times(Rate(timedelta(seconds=interval)), pauses)
    for most, window in ((PER_MINUTE, timedelta(minutes=1)), (PER_HOUR, timedelta(hours=1))):
        assert all(sum(begin <= each < begin + window for each in at) <= most for begin in at)


def test_the_steady_rate_is_reached_without_a_break() -> None:
    assert len(write_times(STEADY, [0.25] * 400)) in {119, 120}  # in a hundred seconds
    assert len(write_times(STEADY, [10.0] * 400)) == 400  # what creates content, too


def test_the_wait_is_exact() -> None:
    spent = FRESH
    for _ in range(20):
        spent = take_turn(spent, STEADY, Importance.awaited, NOON, creates=False).spent
    asked = take_turn(spent, STEADY, Importance.awaited, NOON, creates=False)
    assert (asked.wait, asked.spent) == (timedelta(seconds=1), spent)
    assert not take_turn(spent, STEADY, Importance.awaited, NOON + asked.wait, creates=False).wait


def test_what_only_informs_leaves_most_of_the_burst() -> None:
    assert len(write_times(STEADY, [0.0] * 50, Importance.informing)) == 4
    assert len(write_times(STEADY, [0.0] * 50, Importance.tidying)) == 20


@pytest.mark.parametrize(("interval", "burst"), [(0.75, 1), (0.8, 5), (1.0, 20), (5.0, 20), (60.0, 20)])
def test_the_faster_the_steady_rate_the_smaller_the_burst(interval: float, burst: int) -> None:
    assert Rate(timedelta(seconds=interval)).burst == burst


def test_a_clock_that_was_set_back_keeps_nobody_waiting_for_long() -> None:
    ahead = WritesSpent(NOON + timedelta(days=1), NOON + timedelta(days=1))
    assert take_turn(ahead, STEADY, Importance.awaited, NOON, creates=False).wait <= timedelta(seconds=1)
    assert take_turn(ahead, STEADY, Importance.awaited, NOON, creates=True).wait <= timedelta(seconds=10)
