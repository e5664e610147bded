"""The states of a run and their transitions, as a small pure state machine, and the outcomes of asking for a run."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from domain.value import Value

REVIEW_CHECK = "Forge / review"
"""The check that branches require."""


ExecutionMode = Literal["deterministic", "interactive"]
"""How agents change files: by edits, or in a workspace in which they run commands."""


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
    stuck = "stuck"  # an agent is stuck
    planned = "planned"  # only a plan was requested, and it is done
    answered = "answered"  # only a question was asked: it never worked
    questions = "questions"  # an issue leaves questions open
    in_review = "in_review"  # waiting for the review of its own pull request
    contract = "contract"  # waiting for a contract that another run is changing
    turn = "turn"  # waiting for an earlier instruction on the same pull request
    committed = "committed"  # there is a commit on the branch of a pull request
    proposed = "proposed"  # there is a pull request
    untested = "untested"  # there is one, but its tests could not run
    unchanged = "unchanged"  # no change to propose for an issue
    branch_moved = "branch_moved"  # a person changed Forge's branch
    watching = "watching"  # a deployment waits: for its turn, its workflow, or the next look at the service
    deployed = "deployed"
    rolled_back = "rolled_back"
    error = "error"


_MOVES: dict[RunState, frozenset[RunState]] = {
    RunState.pending: frozenset({RunState.running, RunState.cancelled, RunState.failed}),
    RunState.running: frozenset({RunState.waiting, RunState.completed, RunState.failed, RunState.cancelled}),
    RunState.waiting: frozenset({RunState.running, RunState.failed, RunState.cancelled}),
    RunState.completed: frozenset({RunState.running}),  # after a dismissal a question is left to ask
    RunState.failed: frozenset(),
    RunState.cancelled: frozenset(),
}


def may_move(current: RunState, target: RunState) -> bool:
    """Whether a run may go from one state to another."""
    return target in _MOVES[current]


class Trigger(StrEnum):
    """The trigger of a run; part of its natural key."""

    pull_request = "pull_request"
    rerequested = "rerequested"  # the re-run button
    requested_action = "requested_action"  # one of our buttons
    command = "command"  # a slash command
    plan = "plan"  # a slash command that asks for a plan of an issue
    issue = "issue"  # a slash command or a label for the whole pipeline
    question = "question"  # a question about the code in an issue; the run only holds what its answer cost
    instruction = "instruction"  # a slash command or a mention: carry something out on a pull request
    deployment = "deployment"  # what was merged, or a slash command: it brings a commit to an environment

    @property
    def is_of_issue(self) -> bool:
        """Whether the run works on an issue, not on a pull request."""
        return self in {Trigger.plan, Trigger.issue, Trigger.question}

    @property
    def is_of_review(self) -> bool:
        """Whether the run reviews a pull request."""
        return not self.is_of_issue and not self.is_beside_reviews

    @property
    def is_beside_reviews(self) -> bool:
        """Whether the run goes on beside the reviews of its pull request, with a fencing token of its own."""
        return self in {Trigger.instruction, Trigger.deployment}


class Phase(StrEnum):
    """The phases of the pipeline, and reflection."""

    planning = "planning"
    implementation = "implementation"
    review = "review"
    testing = "testing"
    deployment = "deployment"
    reflection = "reflection"  # after a run, as a side task


class RepositoryRef(Value):
    """A repository: identified by installation and numeric id; owner and name are only for URLs."""

    installation_id: int
    id: int
    owner: str
    name: str

    @property
    def full_name(self) -> str:
        return f"{self.owner}/{self.name}"


class Run(Value):
    """A run.

    :param base_ref: the base branch at admission; empty if unknown.
    :param check_name: of its check, see :func:`safety.allowed_actions.check_name`.
    :param lane: of a deployment or an instruction, see :attr:`fence_number`; None for all other runs.
    :param mode: that somebody asked for; None for the configuration's.
    """

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
    mode: ExecutionMode | None = None
    lane: int | None = None

    @property
    def fence_number(self) -> int:
        """What its fencing token guards: its issue or pull request; of what goes on beside the runs there, itself."""
        return self.number if self.lane is None else self.lane

    @property
    def is_of_issue(self) -> bool:
        """Whether it works on an issue; then ``head_sha`` is the default branch's."""
        return self.trigger.is_of_issue

    @property
    def budget_phase(self) -> Phase:
        """The phase whose budget to show first."""
        of_issues = {
            Trigger.plan: Phase.planning,
            Trigger.issue: Phase.implementation,
            Trigger.question: Phase.planning,
            Trigger.instruction: Phase.implementation,
            Trigger.deployment: Phase.deployment,
        }
        return of_issues.get(self.trigger, Phase.review)


@dataclass(frozen=True)
class Started:
    """A new run was admitted and queued, or one that waited or had ended was queued again."""

    run_id: str


@dataclass(frozen=True)
class NotStarted:
    """No run was started.

    :param why: for people, as a clause.
    :param is_at_level_0: the automation level forbids it; the person who asked does not expect that.
    """

    why: str
    is_at_level_0: bool = False


RunStart = Started | NotStarted
