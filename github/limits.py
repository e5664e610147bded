"""Decides how long to send nothing after GitHub reported a rate limit."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

from gidgethub.sansio import RateLimit

from domain.errors import RateLimited
from domain.ports import Clock
from github.errors import error_codes, error_message
from github.transport import Answer
from memory.db.engine import Database
from memory.process import rate_limits
from memory.process.rate_limits import RateLimitPause

FIRST_WAIT = timedelta(seconds=60)
LONGEST_OWN_WAIT = timedelta(hours=1)
LONGEST_WAIT = timedelta(hours=24)  # no header may silence an installation for longer
STREAK_ENDS_AFTER = timedelta(hours=1)  # without another limit
VIEW_LASTS = timedelta(seconds=5)  # how long another process's block may go unseen
LOW_SHARE = 0.1
LONGEST_PAUSE_S = 2.0
KEPT_SHARE = 0.25
"""Of an hour's requests: kept for Forge's work, so that whoever opens pages of the dashboard cannot use them up."""


@dataclass(frozen=True)
class Limit:
    """A rate limit in an answer; ``until`` is None if GitHub does not say how long to wait."""

    reason: str
    until: datetime | None


def find_limit(answer: Answer, now: datetime) -> Limit | None:
    """The primary or secondary rate limit that an answer reports, if any.

    For too much content GitHub also answers 422, as for invalid content
    (https://github.com/octokit/plugin-throttling.js/issues/775).
    """
    if answer.status == 422:
        said = error_message(answer)
        is_limit = "abuse" in error_codes(answer) or "submitted too quickly" in said.lower()
        return Limit(said, _retry_after(answer.headers, now)) if is_limit else None
    if answer.status not in {403, 429}:
        return None
    moments = (_retry_after(answer.headers, now), _reset_if_spent(answer.headers))
    named = [moment for moment in moments if moment is not None]
    said = error_message(answer)
    is_limit = answer.status == 429 or named or "rate limit" in said.lower() or "abuse detection" in said.lower()
    if not is_limit:
        return None
    until = max(named, default=now)
    return Limit(said, min(until, now + LONGEST_WAIT) if until > now else None)


def graphql_limit(answer: Answer, reason: str, now: datetime) -> Limit:
    """The limit of a GraphQL answer whose errors say, with status 200, that the hour's points are spent."""
    until = _reset_if_spent(answer.headers)
    return Limit(reason, min(until, now + LONGEST_WAIT) if until is not None and until > now else None)


def next_block(limit: Limit, previous: RateLimitPause | None, now: datetime) -> RateLimitPause:
    """The block that follows from a limit and from the block before.

    A limit during a block belongs to the same order, because its request was already under way.
    """
    if previous is None or now - previous.until > STREAK_ENDS_AFTER:
        streak = 1
    else:
        streak = previous.streak if previous.until > now else previous.streak + 1
    until = limit.until or now + next_wait(streak)
    return RateLimitPause(max(until, previous.until) if previous else until, limit.reason, streak)


def next_wait(streak: int) -> timedelta:
    """One minute, doubled with every limit in a row, at most an hour."""
    return min(FIRST_WAIT * 2 ** min(streak - 1, 10), LONGEST_OWN_WAIT)


def pause_s(rate: RateLimit | None, now: datetime) -> float:
    """Seconds to wait before the next request so that the last tenth of an hour's requests lasts longer."""
    if rate is None or rate.remaining >= rate.limit * LOW_SHARE:
        return 0.0
    left = (rate.reset_datetime - now).total_seconds()
    return max(0.0, min(left / max(rate.remaining, 1), LONGEST_PAUSE_S))


class LimitGate:
    """Stops requests to GitHub while an installation is blocked.

    Reads the database at most every few seconds per installation; this process's own blocks apply at once. Installation
    0 is the App itself.

    :param database: keeps blocks across restarts and between processes; None: they end with this process.
    """

    def __init__(self, clock: Clock, database: Database | None) -> None:
        self._database = database
        self._clock = clock
        self._view: dict[int, tuple[RateLimitPause | None, datetime]] = {}
        self._rates: dict[int, RateLimit] = {}

    async def check(self, installation_id: int) -> None:
        """:raises RateLimited: nothing may be sent for this installation now."""
        block = await self._current(installation_id)
        if block is not None and block.until > self._clock.now():
            raise _to_error(block)

    async def note_limit(self, installation_id: int, limit: Limit) -> RateLimited:
        """Store a limit that GitHub just reported, and return the error to raise."""
        now = self._clock.now()
        known, _ = self._view.get(installation_id, (None, now))
        block = next_block(limit, known, now)
        self._view[installation_id] = (block, now)  # before it is stored, so that it applies at once
        if self._database is not None:
            await rate_limits.remember(self._database, installation_id, block)
        return _to_error(block)

    def note(self, installation_id: int, rate: RateLimit | None) -> None:
        """Remember how many requests remain, as GitHub said."""
        if rate is not None:
            self._rates[installation_id] = rate

    def pause_s(self, installation_id: int) -> float:
        return pause_s(self._rates.get(installation_id), self._clock.now())

    def keep_for_work(self, installation_id: int) -> None:
        """:raises RateLimited: too few of this hour's requests are left for somebody who only looks on."""
        rate = self._rates.get(installation_id)
        if rate is None or rate.remaining >= rate.limit * KEPT_SHARE or rate.reset_datetime <= self._clock.now():
            return
        raise RateLimited("Few requests of this hour are left, and Forge needs them for its work.", rate.reset_datetime)

    async def _current(self, installation_id: int) -> RateLimitPause | None:
        view, now = self._view.get(installation_id), self._clock.now()
        if self._database is None:
            return None if view is None else view[0]
        if view is not None and abs(now - view[1]) < VIEW_LASTS:
            return view[0]
        stored = await rate_limits.get_latest(self._database, installation_id)
        if self._view.get(installation_id) is view:  # otherwise a limit came in while the database was asked
            self._view[installation_id] = (stored, now)
        return self._view[installation_id][0]


def find_rate(headers: Mapping[str, str]) -> RateLimit | None:
    """The core API's primary limit in an answer's headers; other resources have their own, and do not count."""
    if headers.get("x-ratelimit-resource", "core") != "core":
        return None
    try:
        return RateLimit.from_http(headers)
    except (ValueError, OverflowError, OSError):
        return None


def _to_error(block: RateLimitPause) -> RateLimited:
    when = block.until.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    return RateLimited(f"GitHub asked Forge to wait ({block.reason}); it continues after {when}.", block.until)


def _retry_after(headers: Mapping[str, str], now: datetime) -> datetime | None:
    value = headers.get("retry-after")
    if value is None:
        return None
    try:
        return (
            now + timedelta(seconds=int(value)) if value.isdecimal() else parsedate_to_datetime(value).astimezone(UTC)
        )
    except (ValueError, OverflowError):
        return None


def _reset_if_spent(headers: Mapping[str, str]) -> datetime | None:
    """When the primary limit resets, if nothing remains; GitHub sends the reset with every answer."""
    if headers.get("x-ratelimit-remaining", "0").strip() != "0":
        return None
    try:
        return datetime.fromtimestamp(int(headers["x-ratelimit-reset"]), UTC)
    except (KeyError, ValueError, OverflowError, OSError):
        return None
