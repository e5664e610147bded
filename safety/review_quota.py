"""Decides how often something may be asked: reviews, commands, reports of monitoring, a head once more."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from domain.commands import Repeat
from domain.runs.run import ReasonCode, RunState
from domain.verdicts import Reason

WINDOW = timedelta(hours=1)
PER_PULL_REQUEST = 30
PER_STRANGER = 20
PER_REPOSITORY = 300
COMMENTS_PER_OUTSIDER = 10
COMMENTS_PER_REPOSITORY = 100  # by everyone; beyond that, Forge ignores outsiders
OUTSIDERS = frozenset({"none", "read"})  # on a public repository everybody has the role read


@dataclass(frozen=True)
class RunCounts:
    """The runs that pushes started in the last hour, up to and including this one, without refused ones."""

    on_pull_request: int
    by_sender: int
    in_repository: int


def over_quota(begun: RunCounts, *, from_fork: bool) -> Reason | None:
    """Returns the reason to wait for a person; None if the run may continue.

    :param from_fork: the account may be unknown here, so it gets a smaller share.
    """
    counted = [
        (begun.on_pull_request, PER_PULL_REQUEST, "on this pull request"),
        (begun.by_sender if from_fork else 0, PER_STRANGER, "of what this account sent from forks"),
        (begun.in_repository, PER_REPOSITORY, "in this repository"),
    ]
    for count, limit, where in counted:
        if count > limit:
            text = f"{count} reviews within an hour {where}; {limit} are allowed"
            return Reason(code="quota", text=text, value=count, threshold=limit)
    return None


@dataclass(frozen=True)
class CommentCounts:
    """How many comments for Forge there were within the last hour, with commands or words, this one included."""

    by_account: int
    in_repository: int

    @property
    def is_flood(self) -> bool:
        """Whether there are so many that their author matters."""
        return self.by_account > COMMENTS_PER_OUTSIDER or self.in_repository > COMMENTS_PER_REPOSITORY


def over_comment_quota(commented: CommentCounts, role: str) -> Reason | None:
    """Returns the reason to ignore another comment; None if Forge obeys it. People with a role are never limited.

    :param role: the author's current role.
    """
    if role not in OUTSIDERS or not commented.is_flood:
        return None
    is_own = commented.by_account > COMMENTS_PER_OUTSIDER
    count, limit = (
        (commented.by_account, COMMENTS_PER_OUTSIDER) if is_own else (commented.in_repository, COMMENTS_PER_REPOSITORY)
    )
    where = "by this account" if is_own else "in this repository"
    text = f"{count} comments for Forge within an hour {where}; {limit} are allowed without a role here"
    return Reason(code="quota", text=text, value=count, threshold=limit)


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


_STOPPED = frozenset({ReasonCode.aborted, ReasonCode.guard})


def is_due(repeat: Repeat, state: RunState, reason: ReasonCode) -> bool:
    """Whether a new run may start on a head whose last run is in this state.

    Forge does not repeat a verdict unasked. A head whose run ended without one is reviewed again; but
    only a person can restart a run that a person stopped or that exceeded a limit.
    """
    if repeat is Repeat.always:
        return True
    if repeat is Repeat.anew:
        return state.is_final or reason is ReasonCode.gate
    if repeat is Repeat.if_begun:
        return not state.is_final and reason is not ReasonCode.gate
    if not state.is_final:
        return repeat is Repeat.if_excluded  # it may have seen a draft that is now ready
    if state is RunState.completed:
        return reason is ReasonCode.excluded and repeat is not Repeat.never
    return repeat is not Repeat.never or reason not in _STOPPED
