"""GitHub's primary and secondary rate limits, counted on the simulator's clock."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from simulator.errors import Refusal

WINDOW = timedelta(hours=1)


@dataclass(eq=False)
class Window:
    limit: int
    reset: datetime
    used: int = 0

    def summary(self) -> dict[str, Any]:
        remaining, reset = max(0, self.limit - self.used), int(self.reset.timestamp())
        return {"limit": self.limit, "used": self.used, "remaining": remaining, "reset": reset}

    def headers(self, resource: str) -> dict[str, str]:
        return {
            "x-ratelimit-limit": str(self.limit),
            "x-ratelimit-remaining": str(max(0, self.limit - self.used)),
            "x-ratelimit-used": str(self.used),
            "x-ratelimit-reset": str(int(self.reset.timestamp())),
            "x-ratelimit-resource": resource,
        }


@dataclass(eq=False)
class RateLimits:
    """Secondary limits are off until they are set."""

    now: Callable[[], datetime]
    concurrent: int | None = None
    content_writes_per_minute: int | None = None
    retry_after: int | None = 60
    secondary_status: int = 403
    in_flight: int = 0
    _windows: dict[tuple[str, str], Window] = field(default_factory=dict[tuple[str, str], Window])
    _writes: deque[datetime] = field(default_factory=deque[datetime])

    def window(self, who: str, resource: str, limit: int) -> Window:
        key, now = (who, resource), self.now()
        if key not in self._windows or self._windows[key].reset <= now:
            self._windows[key] = Window(limit, now + WINDOW)
        self._windows[key].limit = limit
        return self._windows[key]

    def spend(self, window: Window, resource: str, who: str) -> None:
        """Count one request, or refuse it when the hour's are used up."""
        if window.used >= window.limit:
            message = f"API rate limit exceeded for installation ID {who}."
            raise Refusal(403, message, headers=window.headers(resource))
        window.used += 1

    def check_secondary(self, content_write: bool) -> None:
        if self.concurrent is not None and self.in_flight > self.concurrent:
            raise self._secondary()
        if not content_write or self.content_writes_per_minute is None:
            return
        minute_ago = self.now() - timedelta(minutes=1)
        while self._writes and self._writes[0] <= minute_ago:
            self._writes.popleft()
        if len(self._writes) >= self.content_writes_per_minute:
            raise self._secondary()
        self._writes.append(self.now())

    def _secondary(self) -> Refusal:
        headers = {} if self.retry_after is None else {"retry-after": str(self.retry_after)}
        if self.secondary_status == 422:  # as for a mistake in what was sent, and without a word on when to come again
            return Refusal(422, "Validation Failed", [{"resource": "PullRequestReview", "code": "abuse"}])
        message = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
        return Refusal(self.secondary_status, message, headers=headers)
