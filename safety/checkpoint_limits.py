"""Decides whether keeping an agent's work took longer, or failed more often, than people should have to ask about."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

SLOW_S, LONG_PAUSE_S = 2.0, 0.5
"""A checkpoint should never take longer, nor pause the agent longer (docs/operations.md)."""
_TIMES = 3  # once or twice is chance: a busy disk, another run


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
