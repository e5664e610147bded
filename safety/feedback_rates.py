"""Decides how often monitoring may report with one token: some at once, then at a steady rate."""

from dataclasses import dataclass
from datetime import datetime, timedelta

PER_MINUTE = 60
BURST = 30
_EACH = timedelta(minutes=1) / PER_MINUTE


@dataclass(frozen=True)
class ReportAllowance:
    """So many reports may be made at once.

    :param at: as of then, in UTC.
    """

    left: float
    at: datetime


@dataclass(frozen=True)
class ReportTurn:
    """Whether a report may be made.

    :param wait: time before asking again; zero: allowed, and ``allowance`` includes it.
    """

    wait: timedelta
    allowance: ReportAllowance


def take_report(allowance: ReportAllowance, now: datetime) -> ReportTurn:
    """Ask for one report.

    :param now: UTC. A clock that was set back adds nothing, and takes nothing away.
    """
    passed = max(timedelta(), now - allowance.at)
    left = min(float(BURST), allowance.left + passed / _EACH)
    at = max(now, allowance.at)
    if left < 1:
        return ReportTurn((1 - left) * _EACH, ReportAllowance(left, at))
    return ReportTurn(timedelta(), ReportAllowance(left - 1, at))
