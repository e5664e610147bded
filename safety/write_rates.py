"""Decides whether an installation may write to GitHub now: a burst at once, then the steady rate GitHub names.

GitHub, "Rate limits for the REST API": at most 80 requests that create content a minute and 500 an hour, 900 points a
minute, of which a write costs 5; "Best practices": at least a second between writes where there are many of them. It
does not say which writes create content. Here all count against the 80 of a minute, which is less than half of the
900 points; only those that tell people something (issues, pull requests, their comments and reviews) count against
the 500 of an hour, as GitHub marks those in its reference: "creating content too quickly".
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from domain.github.importance import Importance

PER_MINUTE = 80
PER_HOUR = 500
LARGEST_BURST = 20
CONTENT_INTERVAL = timedelta(seconds=10)
CONTENT_BURST = PER_HOUR - int(timedelta(hours=1) / CONTENT_INTERVAL)
RESERVED = 0.8  # of a burst: progress updates leave this share to writes that someone waits for


@dataclass(frozen=True)
class Rate:
    """The write rate of one installation.

    :param interval: time between two writes once the burst is used up.
    """

    interval: timedelta

    @property
    def burst(self) -> int:
        """The writes allowed at once, so that no minute exceeds GitHub's limit."""
        steady = int(timedelta(minutes=1) / self.interval)
        return max(1, min(LARGEST_BURST, PER_MINUTE - steady))


@dataclass(frozen=True)
class WritesSpent:
    """Until when past writes use up the rate, in UTC: all writes, and those that create content."""

    writes: datetime
    content: datetime


@dataclass(frozen=True)
class WriteTurn:
    """Whether a write may be made.

    :param wait: time before asking again; zero: allowed, and ``spent`` includes it.
    :param wants_content: it waits for the content limit of the hour, not for the write limit of the minute.
    """

    wait: timedelta
    spent: WritesSpent
    wants_content: bool = False


def take_turn(spent: WritesSpent, rate: Rate, importance: Importance, now: datetime, *, creates: bool) -> WriteTurn:
    """Decides whether a write may be made now, after the earlier ones.

    :param creates: it creates content, in GitHub's sense.
    """
    kept = int(rate.burst * RESERVED) if importance is Importance.informing else 0
    writes = _spend(spent.writes, rate.interval, rate.burst, now)
    content = _spend(spent.content, CONTENT_INTERVAL, CONTENT_BURST, now) if creates else spent.content
    of_writes = writes - now - rate.interval * (rate.burst - kept)
    of_content = content - now - CONTENT_INTERVAL * CONTENT_BURST if creates else timedelta()
    wait = max(of_writes, of_content)
    if wait > timedelta():
        return WriteTurn(wait, spent, wants_content=of_content >= wait)
    return WriteTurn(timedelta(), WritesSpent(writes, content))


def _spend(spent: datetime, interval: timedelta, burst: int, now: datetime) -> datetime:
    """The spent rate with one more write. A clock that was set back must not cause a longer wait than one burst."""
    return min(max(spent, now), now + interval * burst) + interval
