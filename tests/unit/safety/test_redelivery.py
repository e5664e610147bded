"""Which deliveries GitHub is asked to send again, one row per situation, and which are left alone."""

from datetime import UTC, datetime, timedelta

import pytest

from domain.github.installations import DeliveryAttempt
from safety.github_limits import DoubtfulDelivery, RedeliveryStep, list_doubtful, pause_after, plan_redelivery

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
KEPT = timedelta(days=3)


def _attempt(number: int, status: int, minutes_ago: float, guid: str = "a") -> DeliveryAttempt:
    at = NOW - timedelta(minutes=minutes_ago)
    return DeliveryAttempt(id=number, guid=guid, event="issues", at=at, status_code=status)


def _build_doubtful(asked: int, minutes_ago: float, *, first: float = 600, guid: str = "a") -> DoubtfulDelivery:
    last, first_at = (NOW - timedelta(minutes=ago) for ago in (minutes_ago, first))
    return DoubtfulDelivery(guid, 1, "issues", first_at, last, asked)


DAY = 24 * 60
Situation = tuple[list[DeliveryAttempt], list[DoubtfulDelivery], tuple[str, ...], list[tuple[str, str]]]
SITUATIONS: dict[str, Situation] = {
    "answered at once": ([_attempt(1, 202, 60)], [], (), []),
    "answered with another 2xx": ([_attempt(1, 200, 60)], [], (), []),
    "refused": ([_attempt(1, 503, 60)], [], (), [("ask", "missed")]),
    "redirected, which GitHub does not follow": ([_attempt(1, 301, 60)], [], (), [("ask", "missed")]),
    "nobody there": ([_attempt(1, 0, 60)], [], (), [("ask", "missed")]),
    "failed twice": ([_attempt(2, 502, 30), _attempt(1, 0, 60)], [], (), [("ask", "missed")]),
    "failed, then answered": ([_attempt(2, 202, 30), _attempt(1, 500, 60)], [], (), [("drop", "answered")]),
    "answered, then failed": ([_attempt(2, 500, 30), _attempt(1, 202, 60)], [], (), [("drop", "answered")]),
    "stored, but not answered in time": ([_attempt(1, 504, 60)], [], ("a",), [("drop", "stored")]),
    "only another one is stored": ([_attempt(1, 504, 60)], [], ("b",), [("ask", "missed")]),
    "tried a moment ago": ([_attempt(1, 503, 0.4)], [], (), [("wait", "on_its_way")]),
    "tried again a moment ago": ([_attempt(2, 503, 0.4), _attempt(1, 503, 60)], [], (), [("wait", "on_its_way")]),
    "just within reach": ([_attempt(1, 503, 3 * DAY - 1)], [], (), [("ask", "missed")]),
    "out of reach": ([_attempt(1, 503, 3 * DAY)], [], (), [("drop", "too_old")]),
    "out of reach, tried since": (
        [_attempt(2, 503, 60), _attempt(1, 503, 3 * DAY + 1)],
        [],
        (),
        [("drop", "too_old")],
    ),
    "remembered, never asked for": ([], [_build_doubtful(0, 60)], (), [("ask", "missed")]),
    "asked for and under way": ([], [_build_doubtful(1, 4)], (), [("wait", "on_its_way")]),
    "asked for in vain": ([], [_build_doubtful(1, 6)], (), [("ask", "missed")]),
    "asked for twice": ([], [_build_doubtful(2, 6)], (), [("wait", "on_its_way")]),
    "asked for and arrived": ([_attempt(2, 202, 3)], [_build_doubtful(1, 4)], ("a",), [("drop", "stored")]),
    "asked for and failed just now": ([_attempt(2, 503, 4)], [_build_doubtful(1, 6)], (), [("wait", "on_its_way")]),
    "remembered until out of reach": ([], [_build_doubtful(9, 600, first=3 * DAY)], (), [("drop", "too_old")]),
    "a new one beside an answered one": (
        [_attempt(3, 503, 20, "b"), _attempt(2, 202, 30), _attempt(1, 503, 60)],
        [],
        (),
        [("drop", "answered"), ("ask", "missed")],
    ),
}


@pytest.mark.parametrize("situation", SITUATIONS)
def test_what_becomes_of_a_delivery(situation: str) -> None:
    attempts, remembered, known, expected = SITUATIONS[situation]
    verdicts = plan_redelivery(list_doubtful(attempts, remembered), known, NOW, KEPT)
    assert [(each.step, each.reason.code) for each in verdicts] == [
        (step, f"redelivery.{code}") for step, code in expected
    ]
    assert all(each.reason.text for each in verdicts)


def test_enterprise_server_sends_again_for_longer() -> None:
    old = list_doubtful([_attempt(1, 503, 4 * DAY)])
    assert [each.step for each in plan_redelivery(old, (), NOW, timedelta(days=7))] == [RedeliveryStep.ask]


def test_the_oldest_comes_first_and_the_latest_attempt_is_repeated() -> None:
    attempts = [
        _attempt(5, 503, 10, "new"),
        _attempt(4, 503, 20, "old"),
        _attempt(3, 202, 30, "fine"),
        _attempt(2, 503, 60, "old"),
    ]
    assert [(each.guid, each.attempt_id) for each in list_doubtful(attempts)] == [("old", 4), ("new", 5)]


def test_reading_attempts_again_changes_nothing() -> None:
    attempts = [_attempt(2, 503, 20), _attempt(1, 503, 60)]
    once = list_doubtful(attempts)
    assert list_doubtful(attempts, once) == once


def test_who_keeps_failing_is_asked_for_less_and_less_often() -> None:
    minutes = [pause_after(asked).total_seconds() / 60 for asked in range(10)]
    assert minutes == [0.5, 5, 10, 20, 40, 80, 160, 320, 360, 360]
    assert pause_after(10**6) == timedelta(hours=6)
