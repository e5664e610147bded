"""Decides by GitHub's rules which writes come first, whether Forge may write now, and what it asks for again.

GitHub, "Handling failed webhook deliveries": GitHub never redelivers automatically, and a redelivery keeps its GUID.

GitHub, "Rate limits for the REST API": at most 80 requests that create content a minute and 500 an hour, 900 points a
minute, of which a write costs 5; "Best practices": at least a second between writes where there are many of them. It
does not say which writes create content. Here all count against the 80 of a minute, which is less than half of the
900 points; only those that tell people something (issues, pull requests, their comments and reviews) count against
the 500 of an hour, as GitHub marks those in its reference: "creating content too quickly".
"""

from collections.abc import Collection, Generator, Iterable, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import IntEnum, StrEnum

from domain.github.installations import DeliveryAttempt
from domain.verdicts import Reason


class Importance(IntEnum):
    """The order of writes when not all can be made at once."""

    awaited = 0  # a verdict, the outcome of a gate, an answer
    tidying = 1  # removes or updates earlier texts
    informing = 2  # a reaction or progress: skipped rather than delayed


SETTLES = timedelta(seconds=30)  # an attempt may take that long, and storing a little longer
FIRST_PAUSE = timedelta(minutes=5)
LONGEST_PAUSE = timedelta(hours=6)
TOO_OLD = "redelivery.too_old"


@dataclass(frozen=True)
class DoubtfulDelivery:
    """A delivery with an attempt without a 2xx answer.

    :param attempt_id: its latest attempt, which GitHub is asked to repeat.
    :param first_at: when it was tried for the first time, in UTC.
    :param last_at: when it was last tried or requested, in UTC.
    :param asked: how often Forge requested it.
    :param answered: whether another attempt was answered with 2xx.
    """

    guid: str
    attempt_id: int
    event: str
    first_at: datetime
    last_at: datetime
    asked: int = 0
    answered: bool = False


class RedeliveryStep(StrEnum):
    """The next step for a doubtful delivery."""

    ask = "ask"  # it was missed
    wait = "wait"  # it may have been missed, or is on its way: look again later
    drop = "drop"  # it was not missed, or GitHub no longer has it


@dataclass(frozen=True)
class RedeliveryVerdict:
    delivery: DoubtfulDelivery
    step: RedeliveryStep
    reason: Reason


def list_doubtful(
    attempts: Iterable[DeliveryAttempt], remembered: Iterable[DoubtfulDelivery] = ()
) -> Sequence[DoubtfulDelivery]:
    """Lists deliveries with at least one attempt without a 2xx answer, the oldest first.

    :param attempts: from GitHub's log, in any order; some may be known already.
    :param remembered: the doubtful deliveries of the previous read.
    """
    found = {each.guid: each for each in remembered}
    answered: set[str] = set()
    for attempt in attempts:
        if attempt.is_answered:
            answered.add(attempt.guid)
        else:
            found[attempt.guid] = _with_attempt(found.get(attempt.guid), attempt)
    judged = (replace(each, answered=each.guid in answered) for each in found.values())
    return sorted(judged, key=lambda each: (each.first_at, each.attempt_id))


def plan_redelivery(
    deliveries: Iterable[DoubtfulDelivery], known: Collection[str], now: datetime, redeliverable_for: timedelta
) -> Sequence[RedeliveryVerdict]:
    """Decides the next step for each delivery, with the reason, in the same order.

    :param known: GUIDs of deliveries that are stored here, whatever answer GitHub got.
    :param redeliverable_for: how long GitHub can redeliver.
    """
    return [_decide(each, each.guid in known, now, redeliverable_for) for each in deliveries]


def pause_after(asked: int) -> timedelta:
    """The pause before the next request; it grows with each failed one."""
    return SETTLES if asked == 0 else min(FIRST_PAUSE * 2 ** min(asked - 1, 10), LONGEST_PAUSE)


def _with_attempt(before: DoubtfulDelivery | None, attempt: DeliveryAttempt) -> DoubtfulDelivery:
    if before is None:
        return DoubtfulDelivery(attempt.guid, attempt.id, attempt.event, attempt.at, attempt.at)
    return replace(
        before,
        attempt_id=max(before.attempt_id, attempt.id),
        first_at=min(before.first_at, attempt.at),
        last_at=max(before.last_at, attempt.at),
    )


def _decide(one: DoubtfulDelivery, is_known: bool, now: datetime, redeliverable_for: timedelta) -> RedeliveryVerdict:
    def verdict(step: RedeliveryStep, code: str, text: str) -> RedeliveryVerdict:
        return RedeliveryVerdict(one, step, Reason(code=code, text=text))

    if is_known:
        return verdict(RedeliveryStep.drop, "redelivery.stored", "It is stored here.")
    if one.answered:
        return verdict(RedeliveryStep.drop, "redelivery.answered", "Another attempt was answered with 2xx.")
    if now - one.first_at >= redeliverable_for:
        return verdict(RedeliveryStep.drop, TOO_OLD, f"GitHub does not redeliver after {redeliverable_for.days} days.")
    pause = pause_after(one.asked)
    if now - one.last_at < pause:
        tried = f"asked for {one.asked} times" if one.asked else "tried"
        return verdict(
            RedeliveryStep.wait, "redelivery.on_its_way", f"It was {tried} within the last {pause.total_seconds():g} s."
        )
    return verdict(
        RedeliveryStep.ask, "redelivery.missed", "No attempt was answered with 2xx, and it is not stored here."
    )


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


_current: ContextVar[Importance] = ContextVar("importance", default=Importance.awaited)
_looks_on: ContextVar[bool] = ContextVar("looks_on", default=False)


@contextmanager
def use_importance(importance: Importance) -> Generator[None]:
    """Sets the importance of writes within this block; the default is awaited."""
    token = _current.set(importance)
    try:
        yield
    finally:
        _current.reset(token)


def current_importance() -> Importance:
    """The importance of the next write."""
    return _current.get()


@contextmanager
def look_on() -> Generator[None]:
    """Within this block nothing is read when few of an hour's requests are left: Forge needs these for its work."""
    token = _looks_on.set(True)
    try:
        yield
    finally:
        _looks_on.reset(token)


def is_looking_on() -> bool:
    """Whether the next read is for somebody who looks on."""
    return _looks_on.get()
