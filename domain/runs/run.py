"""The states of a run and the moves between them, as one small pure machine.

pending → running ⇄ waiting → completed | failed | cancelled
"""

from enum import StrEnum

from pydantic import BaseModel, ConfigDict

REVIEW_CHECK = "Forge / review"
"""The check that branches require. Under this name a head passes only what it goes into by way of this review."""


class RunState(StrEnum):
    """The states of a run (docs/contract.md, runs)."""

    pending = "pending"  # admitted, not started
    running = "running"
    waiting = "waiting"  # on a person, a limit of GitHub, or a budget
    completed = "completed"
    failed = "failed"
    cancelled = "cancelled"

    @property
    def is_final(self) -> bool:
        return self in {RunState.completed, RunState.failed, RunState.cancelled}


class ReasonCode(StrEnum):
    """Why a run is in its state."""

    none = ""
    superseded = "superseded"  # a newer push took over
    closed = "closed"  # the pull request was closed
    aborted = "aborted"  # a person stopped it
    paused = "paused"  # a person stopped everything in the repository
    rate_limited = "rate_limited"  # waiting for GitHub
    commit_gone = "commit_gone"  # force-pushed away, or the fork was deleted
    excluded = "excluded"  # the repository's configuration leaves it out
    access_lost = "access_lost"  # uninstalled, suspended, repository gone
    gate = "gate"  # waiting for a person
    gate_rejected = "gate_rejected"
    gate_timeout = "gate_timeout"
    halted = "halted"  # the operator stopped everything
    breaker = "breaker"
    budget = "budget"
    guard = "guard"
    stuck = "stuck"  # an agent does not get on
    planned = "planned"  # only a plan was asked for, and it is there
    questions = "questions"  # an issue leaves open what is wanted
    in_review = "in_review"  # waiting for the review of its own pull request
    contract = "contract"  # waiting for a contract that another run is changing
    proposed = "proposed"  # there is a pull request
    untested = "untested"  # there is one, and its tests could not be run
    unchanged = "unchanged"  # nothing came of an issue that could be proposed
    branch_moved = "branch_moved"  # a person changed Forge's branch
    error = "error"


_MOVES: dict[RunState, frozenset[RunState]] = {
    RunState.pending: frozenset({RunState.running, RunState.cancelled, RunState.failed}),
    RunState.running: frozenset({RunState.waiting, RunState.completed, RunState.failed, RunState.cancelled}),
    RunState.waiting: frozenset({RunState.running, RunState.failed, RunState.cancelled}),
    RunState.completed: frozenset({RunState.running}),  # a dismissal leaves a question that was not asked yet
    RunState.failed: frozenset(),
    RunState.cancelled: frozenset(),
}


def may_move(current: RunState, target: RunState) -> bool:
    """Whether a run may go from one state to another."""
    return target in _MOVES[current]


class Trigger(StrEnum):
    """What asked for a run; part of its natural key."""

    pull_request = "pull_request"
    rerequested = "rerequested"  # the re-run button
    requested_action = "requested_action"  # one of our buttons
    command = "command"  # a slash command
    plan = "plan"  # a slash command that asks for a plan of an issue
    issue = "issue"  # a slash command or a label that asks for all of it

    @property
    def is_of_issue(self) -> bool:
        """Whether the run works on an issue, and not on a pull request."""
        return self in {Trigger.plan, Trigger.issue}


class Phase(StrEnum):
    """The phases of the pipeline, and what is done beside them."""

    planning = "planning"
    implementation = "implementation"
    review = "review"
    testing = "testing"
    deployment = "deployment"
    reflection = "reflection"  # about a run, in no run's way


class RepositoryRef(BaseModel):
    """Where a repository is: its installation and numeric id decide, owner and name are for addresses."""

    model_config = ConfigDict(frozen=True)

    installation_id: int
    id: int
    owner: str
    name: str

    @property
    def full_name(self) -> str:
        return f"{self.owner}/{self.name}"


class Run(BaseModel):
    """One run as the ledger knows it.

    :param base_ref: the branch the pull request went into when the run was admitted; empty where that is not known.
    :param check_name: of its check, see :func:`safety.required_checks.check_name`.
    """

    model_config = ConfigDict(frozen=True)

    id: str
    repository: RepositoryRef
    number: int
    head_sha: str
    base_sha: str
    trigger: Trigger
    attempt: int
    fence: int
    state: RunState
    reason: ReasonCode = ReasonCode.none
    detail: str = ""
    base_ref: str = ""
    check_name: str = REVIEW_CHECK

    @property
    def is_of_issue(self) -> bool:
        """Whether it works on an issue, and not on a pull request: then ``head_sha`` is the default branch's."""
        return self.trigger.is_of_issue

    @property
    def budget_phase(self) -> Phase:
        """The phase whose budget people want to know first."""
        return {Trigger.plan: Phase.planning, Trigger.issue: Phase.implementation}.get(self.trigger, Phase.review)
