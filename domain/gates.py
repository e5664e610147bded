"""A gate: a question that a person answers before a run continues (docs/gates.md)."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

from domain.money import NO_EXTENSION, BudgetExtension
from domain.runs.run import Phase, RepositoryRef
from domain.value import Value, shorten_id
from domain.verdicts import Reason

CHECK_ID_PREFIX = "gate:"
"""The prefix of the external id of a gate's check run; the gate's id follows."""


class GateState(StrEnum):
    """The state of a gate; all but ``waiting`` are final."""

    waiting = "waiting"
    approved = "approved"
    rejected = "rejected"
    expired = "expired"  # nobody answered in time, which counts as a rejection
    void = "void"  # a push, a closed pull request, or nothing left to decide


class Choice(StrEnum):
    """A person's answer at a gate, by button or command."""

    approve = "approve"
    reject = "reject"
    view = "view"  # decides nothing: shows the state
    retry = "retry"  # at ``recovery``: as many attempts again
    other_agent = "other_agent"  # at ``recovery``: another agent does it

    @property
    def approves(self) -> bool:
        """Whether the gate passes with it."""
        return self in {Choice.approve, Choice.retry, Choice.other_agent}


BUTTONS = frozenset({Choice.approve, Choice.reject, Choice.view})
"""The answers that need no words."""


@dataclass(frozen=True)
class StandardGate:
    """A built-in gate.

    :param role: the minimum role to answer.
    :param timeout: after which it is rejected and escalated.
    :param not_author: the author may not answer; with ``not_requester``, the requester may not.
    """

    role: str
    timeout: timedelta
    not_author: bool = False
    not_requester: bool = False


_DAY = timedelta(hours=24)
STANDARD_GATES: Mapping[str, StandardGate] = {
    "architecture_approval": StandardGate("write", _DAY),
    "human_review": StandardGate("write", _DAY, not_author=True),
    "security_findings": StandardGate("maintain", timedelta(hours=12), not_author=True),
    "protected_paths": StandardGate("maintain", _DAY, not_author=True),
    "help_needed": StandardGate("write", _DAY),
    "guard": StandardGate("write", _DAY),
    "cost_overrun": StandardGate("write", timedelta(hours=2)),
    "production_deploy": StandardGate("maintain", timedelta(hours=1), not_requester=True),
    "staging_deploy": StandardGate("write", _DAY),
    "deploy_hold": StandardGate("write", timedelta(hours=1)),
    "recovery": StandardGate("write", _DAY),
    "false_positive": StandardGate("write", _DAY, not_author=True),
    "destructive": StandardGate("maintain", _DAY, not_author=True),
}
"""docs/gates.md. A critical change raises ``human_review`` to ``maintain``, production ``deploy_hold``."""

LATER = "gate.later"
"""The reason of a verdict that names what is asked once nothing blocks."""

BUDGET_GATES = frozenset({"guard", "cost_overrun"})
"""The gates that grant a budget extension. After a rejection the run continues without the stopped work."""

OWN_TIMEOUT = _DAY
"""The timeout of a repository's own gate without one."""


class Option(Value):
    """A possible answer: the command and its effect."""

    command: str
    effect: str


class GateRequest(Value):
    """A question: its subject, who may answer, and until when.

    :param subject: the subject; a decision applies to nothing else. See :func:`digest`.
    :param prompt: the question, plain text.
    :param reasons: why it is asked.
    :param shows: the subject in detail, if it is shown nowhere else; inert Markdown.
    :param options: the possible answers, including approve and reject.
    :param escalate: accounts or teams to notify if nobody answers.
    :param grants: what an approval grants, for money or model calls.
    :param on_issue: the run of an issue asks, so its comments are on the issue.
    :param of_instruction: the run of an instruction on a pull request asks, which a push does not end.
    :param verb: of the command that gave the instruction; empty without one.
    :param proposed_head: the head of the run's pull request, which shows the check; empty: none yet.
    :param needs_words: whether an approval has to say what to do.
    :param has_follower: whether an agent works on, which keeps to the conditions of an approval; else they are a note.
    :param task: the key of the stopped agent's task; empty if the whole phase was stopped, or nothing.
    :param findings: the fingerprints of the findings it is about, if it is about findings.
    :param lone_author: the login of who wrote all that it is about and was alone with the role; empty if there is none.
    """

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
    of_instruction: bool = False
    verb: str = ""
    proposed_head: str = ""
    task: str = ""
    shows: str = ""
    needs_words: bool = False
    has_follower: bool = True
    findings: tuple[str, ...] = ()
    lone_author: str = ""

    @property
    def timeout(self) -> timedelta:
        return timedelta(seconds=self.seconds)

    @property
    def digest(self) -> str:
        """A digest of all that people are shown of the question."""
        return digest(self.model_dump_json())


class GateDecision(Value):
    """Who answered and how.

    :param words: the conditions of an approval, or the reason of a rejection; plain text of a person.
    :param by_id: None for an expired or void gate.
    :param via: command, button, timeout, or the reason why it is void.
    :param waived: the rule on authors or requesters was waived, because nobody else has the role.
    :param own: whoever answered wrote part of the change, and others with the role did so, too.
    :param weightless: the change was of low risk, so an approval says little about Forge: anybody can make many such.
    :param seconded_by: the logins of those who said the same before, where it took two people.
    :param cause: the delivery that brought the answer.
    :param grants: what it grants beyond the limits.
    :param choice: None for an expired or void gate.
    :param shown: the digest of what was shown when it was decided; see :attr:`GateRequest.digest`.
    """

    at: datetime
    by_id: int | None = None
    by_login: str = ""
    words: str = ""
    via: str = ""
    waived: bool = False
    own: bool = False
    weightless: bool = False
    seconded_by: tuple[str, ...] = ()
    cause: str = ""
    grants: BudgetExtension = NO_EXTENSION
    choice: Choice | None = None
    shown: str = ""

    @property
    def deciders(self) -> str:
        """The logins of all who decided, for a sentence; empty if nobody did."""
        return join_deciders(self.seconded_by, self.by_login)


def join_deciders(seconded_by: Iterable[str], by_login: str) -> str:
    """All who decided, for a sentence; the last one made it count."""
    return " and ".join(filter(None, (*seconded_by, by_login)))


class Gate(Value):
    """A gate as stored in the database.

    :param delegate: login of the person it was delegated to.
    """

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
        """The head with its check; None while the run has no pull request."""
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
        """The conditions of the approval; may be empty."""
        return self.decision.words if self.decision is not None and self.state is GateState.approved else ""


class DecisionAttempt(NamedTuple):
    """The result of an attempt to decide: the current gate, and whether this attempt decided it."""

    gate: Gate
    counted: bool


def digest(*parts: object) -> str:
    """A digest of a gate's subject: equal parts, equal digest."""
    return hashlib.sha256("\x00".join(map(str, parts)).encode()).hexdigest()[:16]
