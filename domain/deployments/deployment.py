"""A deployment: one commit on its way to one environment, with all that goes live with it.

That is every merge since what the environment runs, and what people asked of it meanwhile. The operator says what its
commands may reach and know.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from domain.deployments.health import StageHealth
from domain.review.review import Decision, RiskLevel
from domain.value import Value, shorten_id

CHECK_ID_PREFIX = "deployment:"
"""The prefix of the external id of a deployment's check run; the run's id follows."""


class DeploymentState(StrEnum):
    """Where a deployment stands; see :attr:`is_over`."""

    queued = "queued"  # another one works in this environment
    asking = "asking"  # a person has to approve it; nothing was deployed
    preparing = "preparing"  # it is built, and the figures before it are read
    rolling_out = "rolling_out"
    holding = "holding"  # part of it is deployed, and a person has to say how to go on
    rolling_back = "rolling_back"
    healthy = "healthy"
    unverified = "unverified"  # deployed, and nothing watches this environment
    degraded = "degraded"  # deployed, and a person accepted that it is not well
    rolled_back = "rolled_back"
    stopped = "stopped"  # ended before anything was deployed
    failed = "failed"  # nobody knows what is deployed, or the roll-back failed: a person has to look

    @property
    def is_over(self) -> bool:
        return self in _OVER

    @property
    def is_there(self) -> bool:
        """Whether its commit is what the environment runs."""
        return self in _THERE

    @property
    def is_untouched(self) -> bool:
        """Whether nothing was deployed yet, so that it can be given up without a trace."""
        return self in {DeploymentState.queued, DeploymentState.asking, DeploymentState.preparing}


_THERE = frozenset({DeploymentState.healthy, DeploymentState.unverified, DeploymentState.degraded})
_OVER = _THERE | {DeploymentState.rolled_back, DeploymentState.stopped, DeploymentState.failed}


class Cause(StrEnum):
    """Why something is deployed."""

    merge = "merge"
    command = "command"
    rollback = "rollback"  # a person asked for what was there before


class Wish(StrEnum):
    """What a person asks of a deployment under way, by button or command."""

    hold = "hold"
    go_on = "go_on"
    roll_back = "roll_back"
    cancel = "cancel"


class Step(Value):
    """A step that was deployed and watched.

    :param percentage: of the traffic.
    :param health: None where it was not watched.
    """

    percentage: int
    health: StageHealth | None = None


class Deployment(Value):
    """A deployment as the database keeps it.

    :param run_id: the run that carries it out; its trace.
    :param number: the pull request, or the issue with the command.
    :param sha: the commit that is deployed.
    :param ordered_by: login of who merged or asked.
    :param previous_sha: what the environment ran before; empty if Forge does not know.
    :param percentage: how much of the traffic it has now.
    :param detail: why it ended so, for people.
    """

    run_id: str
    repository_id: int
    number: int
    environment: str
    is_production: bool
    sha: str
    previous_sha: str = ""
    cause: Cause
    ordered_by: str = ""
    risk: RiskLevel | None = None
    state: DeploymentState
    percentage: int = 0
    detail: str = ""
    wish: Wish | None = None
    wished_by: str = ""
    created_at: datetime
    finished_at: datetime | None = None

    @property
    def short_id(self) -> str:
        """``D-`` and six characters, as people see it."""
        return shorten_id("D", self.run_id)

    @property
    def is_untouched(self) -> bool:
        """Whether nothing of it was deployed, also while it holds before its first step."""
        return self.state.is_untouched or (self.state is DeploymentState.holding and not self.percentage)

    @property
    def is_given_up(self) -> bool:
        """Whether a person wants it to end, and not only to hold."""
        return self.wish in {Wish.cancel, Wish.roll_back}

    @property
    def order(self) -> tuple[datetime, str]:
        """What sorts deployments by when they were ordered."""
        return self.created_at, self.run_id


def list_replaced(new: Deployment, others: Sequence[Deployment]) -> Sequence[Deployment]:
    """Which deployments a newer one to the same environment replaces: those before it that deployed nothing yet."""
    return [each for each in others if each.state in _REPLACEABLE and each.order < new.order]


_REPLACEABLE = frozenset({DeploymentState.queued, DeploymentState.asking})


MOST = 50
"""Merges that are looked at one by one; of what lies before them nothing is known."""


_APPROVED = Decision.approve.value


class LiveMerge(Value):
    """One commit of the default branch that goes live.

    :param number: of the pull request that brought it; None: it was pushed directly.
    :param risk: by the review of exactly what was merged; None: there is none.
    :param verdict: of that review, for people.
    :param findings: how many it left open.
    :param is_protected: whether it touches protected files, or nobody knows.
    :param refused_by: who said no to deploying it to this environment; empty if nobody did.
    :param went_back: whether it was deployed there before and taken back, or nobody knows how that ended.
    """

    sha: str
    title: str
    number: int | None = None
    risk: RiskLevel | None = None
    verdict: str = ""
    findings: int = 0
    is_protected: bool = True
    refused_by: str = ""
    went_back: bool = False

    @property
    def name(self) -> str:
        """What people know it by."""
        return f"#{self.number}" if self.number is not None else self.sha[:7]

    @property
    def risk_here(self) -> RiskLevel | None:
        """Its risk, if a review approved it and its deployment here was not given up before."""
        return self.risk if self.verdict == _APPROVED and not (self.refused_by or self.went_back) else None


class LiveContents(Value):
    """All that goes live.

    :param merges: the newest first; empty if the environment runs this commit, or an older state comes back.
    :param is_whole: whether that is all of it; False where it could not be read or is too much.
    :param undone: (SHA, subject) of what the environment runs and the merges were not made on.
    """

    merges: tuple[LiveMerge, ...] = ()
    is_whole: bool = True
    undone: tuple[tuple[str, str], ...] = ()

    @property
    def risk(self) -> RiskLevel | None:
        """The worst of its merges; None where one is not known, or where nobody reviewed what goes away."""
        known = [each.risk_here for each in self.merges if each.risk_here is not None]
        if not self.is_whole or self.undone or len(known) < len(self.merges):
            return None
        return max(known, key=list(RiskLevel).index, default=RiskLevel.low)

    def is_as_reviewed(self, number: int) -> bool:
        """Whether a pull request is among it, and exactly what its review saw."""
        mine = [each for each in self.merges if each.number == number]
        return bool(mine) and all(each.risk is not None for each in mine)

    @property
    def refusals(self) -> Sequence[str]:
        """What somebody refused here before, with who did."""
        return [f"{each.refused_by} rejected {each.name}" for each in self.merges if each.refused_by]

    @property
    def touches_protected(self) -> bool:
        """Whether anything of it does, or nobody knows."""
        return not self.is_whole or bool(self.undone) or any(each.is_protected for each in self.merges)


def limit(merges: Sequence[LiveMerge]) -> LiveContents:
    """The contents, if one more than :data:`MOST` was looked for."""
    return LiveContents(merges=tuple(merges[:MOST]), is_whole=len(merges) <= MOST)


@dataclass(frozen=True)
class DeployAccess:
    """For one environment of one repository.

    :param host: the only host that the command reaches; empty: none.
    :param port: on it.
    :param secrets: environment variables by name.
    """

    host: str = ""
    port: int = 0
    secrets: Mapping[str, str] = field(default_factory=dict[str, str])


NO_ACCESS = DeployAccess()

DeployAccesses = Mapping[tuple[str, str], DeployAccess]
"""By the repository as ``owner/name`` in small letters, and the environment."""
