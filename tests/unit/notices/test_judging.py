"""What follows from an answer to a notice, and how long a target is left alone."""

from datetime import timedelta

import pytest

from safety.notices import (
    FIRST_PAUSE,
    GIVEN_UP_AFTER,
    LONGEST_PAUSE,
    SendOutcome,
    is_too_much,
    judge_answer,
    judge_failure,
    parse_retry_after,
    pause_after,
    warn_at,
)
from tests.rows import NOON

SECOND = timedelta(seconds=1)


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        *((status, SendOutcome.sent) for status in (200, 201, 202, 204, 299)),
        *((status, SendOutcome.refused) for status in (400, 413, 414, 415, 422)),
        *((status, SendOutcome.later) for status in (302, 401, 403, 404, 405, 408, 409, 429, 500, 502, 503)),
        (410, SendOutcome.gone),
    ],
)
def test_statuses(status: int, outcome: SendOutcome) -> None:
    verdict = judge_answer(status, "", 0, NOON, NOON)
    assert verdict.outcome is outcome
    assert (verdict.why == "") == (outcome is SendOutcome.sent)


def test_pauses_grow_and_end_at_an_hour() -> None:
    pauses = [pause_after(failures) for failures in range(1, 12)]
    assert pauses[:4] == [FIRST_PAUSE * factor for factor in (1, 3, 9, 27)]
    assert pauses[-1] == LONGEST_PAUSE == max(pauses)
    assert pause_after(10**6) == LONGEST_PAUSE
    assert pauses == sorted(pauses)


def test_after_a_day_a_notice_is_over() -> None:
    just, over = NOON + GIVEN_UP_AFTER - SECOND, NOON + GIVEN_UP_AFTER
    assert judge_failure("away", 5, NOON, just).outcome is SendOutcome.later
    assert judge_failure("away", 5, NOON, over).outcome is SendOutcome.over


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
    assert judge_answer(429, "600", 0, NOON, NOON).retry_at == NOON + timedelta(minutes=10)
    assert judge_answer(503, "1", 0, NOON, NOON).retry_at == NOON + FIRST_PAUSE
    assert judge_answer(503, "Fri, 01 May 2099 12:00:00 GMT", 0, NOON, NOON).retry_at == NOON + GIVEN_UP_AFTER


def test_when_a_gate_is_about_to_expire() -> None:
    assert warn_at(NOON, NOON + timedelta(hours=24)) == NOON + timedelta(hours=23)
    assert warn_at(NOON, NOON + timedelta(hours=1)) == NOON + timedelta(minutes=45)


@pytest.mark.parametrize(
    ("counts", "expected"), [((29, 119, 99), False), ((30, 30, 0), True), ((0, 120, 0), True), ((0, 0, 100), True)]
)
def test_how_many_are_too_many(counts: tuple[int, int, int], expected: bool) -> None:
    assert is_too_much(*counts) is expected
