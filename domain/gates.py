"""A gate: a question that a person answers before a run goes on, and what became of it (docs/contract.md, gates)."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict

from domain.ids import shorten_id
from domain.money import NO_EXTENSION, BudgetExtension
from domain.runs.run import Phase, RepositoryRef
from domain.verdicts import Reason

CHECK_ID_PREFIX = "gate:"
"""What the external id of a gate's check run begins with; the gate's id follows."""


class GateState(StrEnum):
    """Where a gate stands; everything but ``waiting`` is final."""

    waiting = "waiting"
    approved = "approved"
    rejected = "rejected"
    expired = "expired"  # nobody answered in time, which counts as a rejection
    void = "void"  # what it asked about is gone: a push, a closed pull request, nothing left to decide


class Choice(StrEnum):
    """What a person can say at a gate, by a button or a command."""

    approve = "approve"
    reject = "reject"
    view = "view"  # decides nothing: shows where it stands


@dataclass(frozen=True)
class StandardGate:
    """A gate that Forge brings along.

    :param role: who at least may answer.
    :param timeout: after which it is rejected and escalated.
    :param not_author: who wrote the change is left out; so is, with ``not_requester``, who asked for it.
    :param told: for whom its ``escalate`` is meant: nobody knows who that is here but the repository.
    """

    role: str
    timeout: timedelta
    not_author: bool = False
    not_requester: bool = False
    told: str = ""


_DAY = timedelta(hours=24)
STANDARD_GATES: Mapping[str, StandardGate] = {
    "architecture_approval": StandardGate("write", _DAY, told="architect"),
    "human_review": StandardGate("write", _DAY, not_author=True),
    "security_findings": StandardGate("maintain", timedelta(hours=12), not_author=True, told="security team"),
    "protected_paths": StandardGate("maintain", _DAY, not_author=True),
    "help_needed": StandardGate("write", _DAY),
    "guard": StandardGate("write", _DAY),
    "cost_overrun": StandardGate("write", timedelta(hours=2), told="budget owner"),
    "production_deploy": StandardGate("maintain", timedelta(hours=1), not_requester=True, told="deployment lead"),
    "recovery": StandardGate("write", _DAY),
    "false_positive": StandardGate("write", _DAY),
    "destructive": StandardGate("maintain", _DAY, not_author=True),
}
"""docs/contract.md, gates. Of ``human_review`` a critical change asks for ``maintain``."""

_NOT_YET = "this version of Forge does not ask it"
NOT_ASKED: Mapping[str, str] = {
    "production_deploy": "there is no deployment phase yet",
    "recovery": _NOT_YET,
    "false_positive": _NOT_YET,
    "destructive": _NOT_YET,
}
"""Standard gates that nothing asks in this version, and why; each leaves this table with what asks it."""

BUDGET_GATES = frozenset({"guard", "cost_overrun"})
"""The gates at which a slice is granted. Rejected, the run goes on without what they stopped."""

OWN_TIMEOUT = _DAY
"""Of a gate that a repository defines without one."""


class Option(BaseModel):
    """One thing a person can answer: the command, and what follows."""

    model_config = ConfigDict(frozen=True)

    command: str
    effect: str


class GateRequest(BaseModel):
    """What is asked, of whom, and until when.

    :param subject: what exactly is asked about; a decision holds for nothing else. See :func:`digest`.
    :param prompt: the question, plain text.
    :param reasons: why it is asked.
    :param shows: what it is asked about, where that stands nowhere else; Markdown in which nothing acts.
    :param options: what can be answered; approving and rejecting among them.
    :param escalate: accounts or teams that are told when nobody answers.
    :param grants: what approving grants, where it is about money or calls of a model.
    :param on_issue: the run of an issue asks, so the comment is there, and so are all others it had.
    :param proposed_head: the head of the pull request that the run proposed, which shows the check; empty: none yet.
    :param task: the key of the agent's task that was stopped; empty where the phase is one, or none was.
    """

    model_config = ConfigDict(frozen=True)

    name: str
    phase: Phase
    subject: str
    prompt: str
    reasons: tuple[Reason, ...]
    role: str
    not_author: bool
    not_requester: bool
    seconds: float
    options: tuple[Option, ...]
    escalate: tuple[str, ...] = ()
    grants: BudgetExtension = NO_EXTENSION
    on_issue: bool = False
    proposed_head: str = ""
    task: str = ""
    shows: str = ""

    @property
    def timeout(self) -> timedelta:
        return timedelta(seconds=self.seconds)


class GateDecision(BaseModel):
    """Who answered and how.

    :param words: the conditions of an approval, or the reason of a rejection; plain text of a person.
    :param by_id: None where nobody did: the time ran out, or there was nothing left to decide.
    :param via: command, button, timeout, or what made it void.
    :param waived: the rule on authors or requesters was waived, because nobody else has the role.
    :param cause: the delivery that brought the answer.
    :param grants: what it grants beyond the limits.
    """

    model_config = ConfigDict(frozen=True)

    at: datetime
    by_id: int | None = None
    by_login: str = ""
    words: str = ""
    via: str = ""
    waived: bool = False
    cause: str = ""
    grants: BudgetExtension = NO_EXTENSION


class Gate(BaseModel):
    """A gate as the database knows it.

    :param delegate: login of whom a person passed it on to.
    """

    model_config = ConfigDict(frozen=True)

    id: str
    run_id: str
    repository: RepositoryRef
    number: int
    head_sha: str
    request: GateRequest
    state: GateState
    asked_at: datetime
    until: datetime
    decision: GateDecision | None = None
    delegate: str | None = None
    check_id: int | None = None
    comment_id: int | None = None

    @property
    def name(self) -> str:
        return self.request.name

    @property
    def check_head(self) -> str | None:
        """The head that shows its check; None while the issue of the run has no pull request."""
        return self.request.proposed_head or (None if self.request.on_issue else self.head_sha)

    @property
    def short_id(self) -> str:
        """``G-`` and six characters, as people type it."""
        return shorten_id("G", self.id)

    @property
    def is_waiting(self) -> bool:
        return self.state is GateState.waiting

    @property
    def conditions(self) -> str:
        """The conditions under which a person approved; empty if there are none."""
        return self.decision.words if self.decision is not None and self.state is GateState.approved else ""


class DecisionAttempt(NamedTuple):
    """What became of an attempt to decide: the gate as it is now, and whether this attempt decided it."""

    gate: Gate
    counted: bool


def digest(*parts: object) -> str:
    """A short name of what a gate is about: equal parts, equal name."""
    return hashlib.sha256("\x00".join(map(str, parts)).encode()).hexdigest()[:16]
