"""What follows from an answer to a notice, and how long a target is left alone."""

from datetime import timedelta

import pytest

from domain.notices import TargetState
from safety.notices import (
    FIRST_PAUSE,
    GIVEN_UP_AFTER,
    GONE_FOR,
    LONGEST_PAUSE,
    count_told,
    is_refusal,
    note_failure,
    note_success,
    parse_retry_after,
    pause_after,
)
from tests.rows import NOON

SECOND = timedelta(seconds=1)
NEW = TargetState("ops", "ops", 0, NOON, NOON, NOON)


@pytest.mark.parametrize(
    ("status", "rest"),
    [
        *((status, timedelta()) for status in (400, 413, 414, 415, 422)),
        *((status, FIRST_PAUSE) for status in (302, 401, 403, 404, 405, 408, 409, 429, 500, 502, 503)),
        (410, GONE_FOR),
    ],
)
def test_how_long_a_target_is_left_alone(status: int, rest: timedelta) -> None:
    after = note_failure(NEW, "it failed", NOON, status)
    assert (after.rest_until, after.failures, after.problem) == (NOON + rest, 1, "it failed")
    assert is_refusal(status) == (not rest)


def test_pauses_grow_and_end_at_an_hour() -> None:
    pauses = [pause_after(failures) for failures in range(1, 12)]
    assert pauses[:4] == [FIRST_PAUSE * factor for factor in (1, 3, 9, 27)]
    assert pauses[-1] == LONGEST_PAUSE == max(pauses)
    assert pause_after(10**6) == LONGEST_PAUSE
    assert pauses == sorted(pauses)


def test_one_that_is_taken_ends_the_pause_and_counts_for_an_hour() -> None:
    failed = note_failure(NEW, "away", NOON)
    first = note_success(failed, NOON + SECOND)
    assert (first.failures, first.problem, first.rest_until) == (0, "", NOON + SECOND)
    second = note_success(first, NOON + timedelta(minutes=59))
    assert (count_told(NEW, NOON), count_told(second, NOON + timedelta(minutes=59))) == (0, 2)
    assert count_told(second, NOON + timedelta(hours=1) + SECOND) == 0
    assert note_success(second, NOON + timedelta(hours=2)).told == 1


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("120", 120),
        (" 0 ", 0),
        ("Fri, 01 May 2026 12:05:00 GMT", 300),
        ("Fri, 01 May 2026 11:00:00 GMT", 0),
        ("9" * 300, GIVEN_UP_AFTER.total_seconds()),
        ("-5", 0),
        ("1.5", 0),
        ("soon", 0),
        ("", 0),
        ("٣", 0),
    ],
)
def test_how_long_a_target_asks_to_be_left_alone(text: str, seconds: float) -> None:
    assert parse_retry_after(text, NOON) == timedelta(seconds=seconds)


def test_what_a_target_asks_for_is_kept_within_a_day() -> None:
    asked = ("600", "1", "Fri, 01 May 2099 12:00:00 GMT")
    rests = [note_failure(NEW, "busy", NOON, 429, each).rest_until - NOON for each in asked]
    assert rests == [timedelta(minutes=10), FIRST_PAUSE, GIVEN_UP_AFTER]
