"""Decides what follows from an attempt to tell somebody: when it is repeated, and when there was enough."""

from dataclasses import replace
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime

from domain.notices import TargetState

GIVEN_UP_AFTER = timedelta(hours=24)
"""How long a notice is tried; then it is old news."""
GONE_FOR = timedelta(days=30)
"""How long a target is left alone that said that it wants nothing any more."""
FIRST_PAUSE = timedelta(seconds=10)
LONGEST_PAUSE = timedelta(hours=1)
_GROWTH = 3  # 10 s, 30 s, 90 s, 270 s, 810 s, 2430 s, 1 h

MOST_IN_AN_HOUR = 60
"""Notices that a target gets; the last one says that there may be more."""
_HOUR = timedelta(hours=1)

_GONE = 410
_OF_NOTICE = frozenset({400, 413, 414, 415, 422})
"""Answers that are about this notice: the next one may be taken."""


def count_told(state: TargetState, now: datetime) -> int:
    """How many notices a target took in this hour."""
    return state.told if timedelta() <= now - state.hour < _HOUR else 0


def note_success(state: TargetState, now: datetime) -> TargetState:
    """How a target is that took a notice."""
    told = count_told(state, now)
    hour = state.hour if told else now
    return replace(state, at=now, rest_until=now, hour=hour, told=told + 1, failures=0, problem="")


def note_failure(
    state: TargetState, problem: str, now: datetime, status: int = 0, retry_after: str = ""
) -> TargetState:
    """How a target is that took none.

    :param status: of HTTP; 0: there was no answer.
    :param retry_after: the header, may be empty.
    """
    pause = max(pause_after(state.failures + 1), min(parse_retry_after(retry_after, now), GIVEN_UP_AFTER))
    if status == _GONE:
        pause = GONE_FOR
    elif is_refusal(status):
        pause = timedelta()
    return replace(state, at=now, rest_until=now + pause, failures=state.failures + 1, problem=problem)


def is_refusal(status: int) -> bool:
    """Whether an answer of this status is about the notice, which then is not sent again."""
    return status in _OF_NOTICE


def pause_after(failures: int) -> timedelta:
    """How long a target is left alone after so many failures in a row."""
    return min(LONGEST_PAUSE, FIRST_PAUSE * _GROWTH ** min(failures - 1, 10))


def parse_retry_after(text: str, now: datetime) -> timedelta:
    """The pause of a ``Retry-After`` header, in seconds or as a date (RFC 9110, 10.2.3); none if it says neither."""
    text = text.strip()
    if text.isascii() and text.isdigit():
        return timedelta(seconds=min(int(text[:9]), GIVEN_UP_AFTER.total_seconds()))
    try:
        return max(timedelta(), parsedate_to_datetime(text) - now)
    except (ValueError, TypeError):  # no date, or one without a time zone
        return timedelta()
