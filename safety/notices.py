"""Decides when a notice is tried again, when they are too many, and whether keeping work took too long."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from enum import StrEnum

SLOW_S, LONG_PAUSE_S = 2.0, 0.5
"""A checkpoint should never take longer, nor pause the agent longer (docs/operations.md)."""
_TIMES = 3  # once or twice is chance: a busy disk, another run


GIVEN_UP_AFTER = timedelta(hours=24)
"""How long a notice is tried; then it is old news."""
FIRST_PAUSE = timedelta(seconds=10)
LONGEST_PAUSE = timedelta(hours=1)
_GROWTH = 3  # 10 s, 30 s, 90 s, 270 s, 810 s, 2430 s, 1 h

WINDOW = timedelta(minutes=10)
MOST_OF_REPOSITORY = 30
"""Notices of one repository to one target within the window; what is more is summed up."""
MOST_OF_TARGET = 120
"""Notices of all repositories to one target within the window."""
MOST_WAITING = 100
"""Notices of one repository that wait for one target."""

_SHARE_LEFT = 4  # a quarter of its time
EXPIRING_WITHIN = timedelta(hours=1)
"""Before the end of a gate people are told of it, at the earliest."""

_GONE = 410
_OF_NOTICE = frozenset({400, 413, 414, 415, 422})
"""Answers that are about this notice: the next one may be taken."""


class SendOutcome(StrEnum):
    """What became of one attempt."""

    sent = "sent"
    refused = "refused"  # this notice is not wanted; the next one may be
    later = "later"  # the target is tried again after a pause
    over = "over"  # it was tried for long enough
    gone = "gone"  # the target said that it wants nothing any more


@dataclass(frozen=True)
class SendVerdict:
    """What follows from an attempt.

    :param retry_at: before which nothing more is sent to the target.
    :param why: what is wrong, for people; empty if nothing is.
    """

    outcome: SendOutcome
    retry_at: datetime | None = None
    why: str = ""


def judge_answer(
    status: int, retry_after: str, failures: int, created_at: datetime, now: datetime, said: str = ""
) -> SendVerdict:
    """What follows from an answer.

    :param status: of HTTP.
    :param retry_after: the header, may be empty.
    :param failures: in a row of this target before.
    :param created_at: of the notice.
    :param said: the beginning of the answer's body.
    """
    if 200 <= status < 300:
        return SendVerdict(SendOutcome.sent)
    why = f"it answered {status}" + (f" ({said})" if said else "")
    if status == _GONE:
        return SendVerdict(SendOutcome.gone, None, why)
    if status in _OF_NOTICE:
        return SendVerdict(SendOutcome.refused, None, why)
    if 300 <= status < 400:
        why += ", and Forge follows no redirect with a notice"
    return judge_failure(why, failures, created_at, now, parse_retry_after(retry_after, now))


def judge_failure(
    why: str, failures: int, created_at: datetime, now: datetime, wait: timedelta = timedelta()
) -> SendVerdict:
    """What follows from an attempt that got no answer, or one that may be another later.

    :param wait: how long the target asked to be left alone.
    """
    retry_at = now + max(pause_after(failures + 1), min(wait, GIVEN_UP_AFTER))
    is_over = now - created_at >= GIVEN_UP_AFTER
    return SendVerdict(SendOutcome.over if is_over else SendOutcome.later, retry_at, why)


def pause_after(failures: int) -> timedelta:
    """How long a target is left alone after so many failures in a row."""
    return min(LONGEST_PAUSE, FIRST_PAUSE * _GROWTH ** min(max(failures - 1, 0), 10))


def parse_retry_after(text: str, now: datetime) -> timedelta:
    """The pause of a ``Retry-After`` header, in seconds or as a date (RFC 9110, 10.2.3); none if it says neither."""
    text = text.strip()
    if text.isascii() and text.isdigit():
        return timedelta(seconds=min(int(text[:9]), GIVEN_UP_AFTER.total_seconds()))
    try:
        return max(timedelta(), parsedate_to_datetime(text) - now)
    except (ValueError, TypeError):  # no date, or one without a time zone
        return timedelta()


def warn_at(asked_at: datetime, until: datetime) -> datetime:
    """From when on people are told that a gate is about to expire: a quarter of its time is left, at most an hour."""
    return until - min((until - asked_at) / _SHARE_LEFT, EXPIRING_WITHIN)


def is_too_much(of_repository: int, of_target: int, waiting: int) -> bool:
    """Whether one more notice is only counted.

    :param of_repository: notices of the repository to the target within :data:`WINDOW`.
    :param of_target: of all repositories.
    :param waiting: of the repository, that the target has not got yet.
    """
    return of_repository >= MOST_OF_REPOSITORY or of_target >= MOST_OF_TARGET or waiting >= MOST_WAITING


class KeepingProblem(StrEnum):
    """What is wrong, the gravest first."""

    failed = "failed"  # checkpoints could not be made
    slow = "slow"  # they took too long
    paused = "paused"  # the agent stood still for too long


@dataclass(frozen=True)
class KeepingFacts:
    """How the work of a run's agents was kept.

    :param seconds: that each checkpoint took.
    :param pauses: seconds that the agent stood still for each.
    :param failures: why each of the others could not be made.
    """

    seconds: Sequence[float] = ()
    pauses: Sequence[float] = ()
    failures: Sequence[str] = ()


@dataclass(frozen=True)
class ExceededLimit:
    """A limit that was exceeded too often.

    :param times: so often; ``of`` how many.
    :param worst: seconds; ``limit``: that it should have taken at most. Both 0 for failures.
    :param why: the last failure.
    """

    problem: KeepingProblem
    times: int
    of: int
    worst: float = 0.0
    limit: float = 0.0
    why: str = ""


def find_exceeded(facts: KeepingFacts) -> ExceededLimit | None:
    """The gravest limit that was exceeded three times or more."""
    tries = len(facts.seconds) + len(facts.failures)
    if len(facts.failures) >= _TIMES:
        return ExceededLimit(KeepingProblem.failed, len(facts.failures), tries, why=facts.failures[-1])
    return _compare(KeepingProblem.slow, facts.seconds, SLOW_S) or _compare(
        KeepingProblem.paused, facts.pauses, LONG_PAUSE_S
    )


def _compare(problem: KeepingProblem, measured: Sequence[float], limit: float) -> ExceededLimit | None:
    over = [seconds for seconds in measured if seconds > limit]
    return ExceededLimit(problem, len(over), len(measured), max(over), limit) if len(over) >= _TIMES else None
