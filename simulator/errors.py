"""GitHub's refusals, and what else keeps a request from its answer: faults that a test injects, and rate limits."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from simulator.state import Json

DOCUMENTATION = "https://docs.github.com/rest"
BODY_LIMIT = 65_536
TITLE_LIMIT = 256


class Refusal(Exception):
    """A request GitHub refuses: status, `message`, `errors` and headers of its answer."""

    def __init__(
        self,
        status: int,
        message: str,
        errors: Sequence[Any] | None = None,
        headers: Mapping[str, str] | None = None,
        page: str = "",
    ) -> None:
        super().__init__(f"{status} {message} {errors or ''}")
        self.status = status
        self.headers = dict(headers or {})
        self.body: Json = {"message": message}
        if errors is not None:
            self.body["errors"] = list(errors)
        self.body |= {"documentation_url": DOCUMENTATION + page, "status": str(status)}


Kind = Literal["before", "after", "reset", "reset_before", "slow", "truncated"]
Moment = Literal["before", "after"]


class Dropped(Exception):
    """Raised by a write hook: the request is lost without an effect, and its connection is cut."""


@dataclass(eq=False)
class RequestInfo:
    """One request as it was received. `applied` tells whether it took effect, `status` what was answered."""

    time: datetime
    method: str
    path: str
    query: dict[str, str]
    body: Any
    actor: str = ""
    status: int = 0
    applied: bool = False
    write: bool = False
    headers: dict[str, str] = field(default_factory=dict[str, str])
    window: Window | None = None  # of the rate limit


WriteHook = Callable[[RequestInfo, Moment], Awaitable[None]]


@dataclass(eq=False)
class Fault:
    """`before` answers `status` instead of acting; `after` acts, then answers `status`; `reset` acts, then cuts the
    connection; `reset_before` cuts it without acting; `slow` waits `delay` seconds; `truncated` halves a list and
    leaves out its Link header."""

    kind: Kind
    method: str | None = None
    path: str = ""
    times: int | None = 1
    skip: int = 0  # matching requests to let pass first
    status: int = 500
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    message: str = "Server Error"
    errors: tuple[Any, ...] = ()  # beside the message, as of a 422
    delay: float = 0.0
    fired: int = 0

    def matches(self, method: str, path: str) -> bool:
        return self.method in (None, method) and re.search(self.path, path) is not None

    @property
    def is_spent(self) -> bool:
        return self.times is not None and self.fired >= self.times


class Faults:
    def __init__(self) -> None:
        self._faults: list[Fault] = []

    def add(
        self,
        *,
        kind: Kind,
        method: str | None = None,
        path: str = "",
        times: int | None = 1,
        skip: int = 0,
        status: int = 500,
        headers: Mapping[str, str] | None = None,
        message: str = "Server Error",
        errors: Sequence[Any] = (),
        delay: float = 0.0,
    ) -> Fault:
        """Inject a fault into requests whose path (without the API prefix) matches; `times=None` for ever."""
        fault = Fault(kind, method, path, times, skip, status, dict(headers or {}), message, tuple(errors), delay)
        self._faults.append(fault)
        return fault

    def clear(self) -> None:
        self._faults.clear()

    def take(self, method: str, path: str) -> Fault | None:
        """The first live fault for this request, counted as fired."""
        for fault in self._faults:
            if fault.is_spent or not fault.matches(method, path):
                continue
            if fault.skip > 0:
                fault.skip -= 1
                continue
            fault.fired += 1
            return fault
        return None


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


def not_found() -> Refusal:
    return Refusal(404, "Not Found")


def no_access(kind: str = "integration", needed: str = "") -> Refusal:
    """The token lacks a permission such as `checks:write`; `kind` is GitHub's word for it."""
    headers = {"X-Accepted-GitHub-Permissions": needed.replace(":", "=")} if needed else None
    return Refusal(403, f"Resource not accessible by {kind}", headers=headers)


def invalid(resource: str, field: str, code: str, message: str | None = None) -> Refusal:
    """422 Validation Failed with one structured error."""
    error = {"resource": resource, "field": field, "code": code}
    return Refusal(422, "Validation Failed", [error | ({"message": message} if message else {})])


def unprocessable(*errors: str, page: str = "") -> Refusal:
    """422 Unprocessable Entity with plain sentences."""
    return Refusal(422, "Unprocessable Entity", errors, page=page)


def malformed(reason: str) -> Refusal:
    """422 of the request's schema."""
    return Refusal(422, f"Invalid request.\n\n{reason}")


def check_body(resource: str, body: object, required: bool = True) -> str:
    """The text of a comment or review within GitHub's limit."""
    text = body if isinstance(body, str) else ""
    if required and not text.strip():
        raise invalid(resource, "body", "missing_field" if body is None else "custom", "body cannot be blank")
    if len(text) > BODY_LIMIT:
        raise invalid(resource, "body", "custom", f"body is too long (maximum is {BODY_LIMIT} characters)")
    return text


def check_title(resource: str, title: str) -> None:
    """Refuse the title of an issue or pull request that is empty or beyond GitHub's limit."""
    if not title.strip():
        raise invalid(resource, "title", "missing_field")
    if len(title) > TITLE_LIMIT:
        raise invalid(resource, "title", "custom", f"title is too long (maximum is {TITLE_LIMIT} characters)")
