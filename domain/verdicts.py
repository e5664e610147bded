"""A verdict's tree of reasons, and the checks of breakers."""

from __future__ import annotations

from enum import StrEnum

from domain.value import Value


class Reason(Value):
    """One node of a verdict's reasons.

    :param code: a stable, machine-readable name such as ``risk.sensitive_path``.
    :param text: one sentence for people.
    :param value: the measured value, if any.
    :param threshold: the limit, if any.
    """

    code: str
    text: str
    value: float | None = None
    threshold: float | None = None
    children: tuple[Reason, ...] = ()


class BreakerState(StrEnum):
    """The states of a circuit breaker."""

    closed = "closed"  # work continues
    open = "open"  # nothing is started
    half_open = "half_open"  # one trial is let through; its outcome closes or opens it


class Check(Value):
    """The check of one breaker or guard before a model call.

    :param name: the breaker or guard, e.g. ``iteration`` or ``error_rate``.
    :param warns: a limit is close.
    :param reason: the measured value and its threshold, with causes as children.
    :param suggestion: advice for a person, one sentence; may be empty.
    """

    name: str
    state: BreakerState = BreakerState.closed
    warns: bool = False
    reason: Reason
    suggestion: str = ""

    @property
    def should_break(self) -> bool:
        """Whether it forbids the next call."""
        return self.state is BreakerState.open
