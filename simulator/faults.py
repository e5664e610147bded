"""Faults a test may inject: refused, lost, cut off, slow and truncated answers."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from simulator.limits import Window

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
