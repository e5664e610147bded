"""A verdict: a decision with the tree of reasons that led to it."""

from __future__ import annotations

from enum import StrEnum

from pydantic import BaseModel, ConfigDict


class Reason(BaseModel):
    """One node of a verdict's reasons.

    :param code: a stable, machine-readable name such as ``risk.sensitive_path``.
    :param text: the same for people, one sentence.
    :param value: what was measured, if anything was.
    :param threshold: what it was compared with.
    """

    model_config = ConfigDict(frozen=True)

    code: str
    text: str
    value: float | None = None
    threshold: float | None = None
    children: tuple[Reason, ...] = ()


class BreakerState(StrEnum):
    """The states of a circuit breaker."""

    closed = "closed"  # work goes on
    open = "open"  # nothing is started
    half_open = "half_open"  # one trial is let through; its outcome closes or opens it


class Check(BaseModel):
    """What one breaker or guard says before the next call of a model.

    :param name: the breaker or guard, e.g. ``iteration`` or ``error_rate``.
    :param warns: a limit is close.
    :param reason: what was measured against which threshold, with what led to it as children.
    :param suggestion: what a person can do about it, one sentence; empty while nothing is wrong.
    """

    model_config = ConfigDict(frozen=True)

    name: str
    state: BreakerState = BreakerState.closed
    warns: bool = False
    reason: Reason
    suggestion: str = ""

    @property
    def should_break(self) -> bool:
        """Whether the next call must not be made."""
        return self.state is BreakerState.open
