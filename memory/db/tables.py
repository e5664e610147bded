"""The tables of Forge. DBOS keeps its own beside them in the same database."""

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, Index, String, Text, UniqueConstraint, false, text
from sqlalchemy.dialects.postgresql import BIT
from sqlalchemy.orm import Mapped, mapped_column

from domain.runs.run import REVIEW_CHECK, ReasonCode, RepositoryRef, Run, RunState, Trigger
from memory.db.engine import Base


class DeliveryRow(Base):
    """One webhook delivery that was answered with 202. The command is what it asked for."""

    __tablename__ = "deliveries"

    guid: Mapped[str] = mapped_column(primary_key=True)
    event: Mapped[str]
    action: Mapped[str]
    received_at: Mapped[datetime] = mapped_column(index=True)
    outcome: Mapped[str]  # accepted | ignored
    reason: Mapped[str]  # why it was ignored; what became of it otherwise
    command: Mapped[dict[str, Any] | None] = mapped_column(JSON)
    finished_at: Mapped[datetime | None]
    acts_once: Mapped[str | None] = mapped_column(unique=True)  # what it is known by beside its GUID


class DeliveryLogRow(Base):
    """How far GitHub's own log of deliveries was read, and which process reads it at the moment."""

    __tablename__ = "delivery_log"

    app_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    holder: Mapped[str]
    lease_until: Mapped[datetime]
    read_at: Mapped[datetime | None]  # when it was read last
    read_to: Mapped[datetime | None]  # attempts up to this moment were read


class DoubtfulDeliveryRow(Base):
    """A delivery that GitHub tried in vain and that has not arrived here yet."""

    __tablename__ = "doubtful_deliveries"

    guid: Mapped[str] = mapped_column(primary_key=True)
    attempt_id: Mapped[int]
    event: Mapped[str]
    first_at: Mapped[datetime]
    last_at: Mapped[datetime]
    asked: Mapped[int]


class PullRequestRow(Base):
    """The fencing token of a pull request: only the run that holds the current one may write."""

    __tablename__ = "pull_requests"

    repository_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    fence: Mapped[int]


class RunRow(Base):
    """One run. Its natural key is unique: repository, number, head, base, trigger, attempt."""

    __tablename__ = "runs"
    __table_args__ = (
        UniqueConstraint("repository_id", "number", "head_sha", "base_sha", "trigger", "attempt", name="natural_key"),
        Index("runs_by_state", "state"),
        Index("runs_by_head", "repository_id", "head_sha"),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    admitted_by: Mapped[str] = mapped_column(unique=True)  # the delivery
    installation_id: Mapped[int]
    repository_id: Mapped[int]
    owner: Mapped[str]
    name: Mapped[str]
    number: Mapped[int]
    head_sha: Mapped[str]
    base_sha: Mapped[str]
    base_ref: Mapped[str] = mapped_column(server_default="")  # of a version before: not known
    check_name: Mapped[str] = mapped_column(server_default=REVIEW_CHECK)
    trigger: Mapped[str]
    attempt: Mapped[int]
    fence: Mapped[int]
    state: Mapped[str]
    reason: Mapped[str]
    detail: Mapped[str] = mapped_column(Text)
    created_at: Mapped[datetime]
    started_at: Mapped[datetime | None]
    finished_at: Mapped[datetime | None]

    def as_run(self) -> Run:
        """The run it keeps."""
        return Run(
            id=self.id,
            repository=RepositoryRef(
                installation_id=self.installation_id, id=self.repository_id, owner=self.owner, name=self.name
            ),
            number=self.number,
            head_sha=self.head_sha,
            base_sha=self.base_sha,
            trigger=Trigger(self.trigger),
            attempt=self.attempt,
            fence=self.fence,
            state=RunState(self.state),
            reason=ReasonCode(self.reason),
            detail=self.detail,
            base_ref=self.base_ref,
            check_name=self.check_name,
        )


class CheckpointRow(Base):
    """The output of a phase, so that a run goes on from there."""

    __tablename__ = "checkpoints"
    __table_args__ = (UniqueConstraint("run_id", "phase", name="checkpoint_of_phase"),)

    id: Mapped[str] = mapped_column(primary_key=True)
    run_id: Mapped[str]
    phase: Mapped[str]
    output: Mapped[dict[str, Any]] = mapped_column(JSON)
    time: Mapped[datetime]


class FindingRow(Base):
    """A finding of a pull request; the fingerprint keeps it the same from push to push."""

    __tablename__ = "findings"
    __table_args__ = (
        UniqueConstraint("repository_id", "number", "fingerprint", name="finding_identity"),
        UniqueConstraint("repository_id", "number", "name", name="finding_name"),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    repository_id: Mapped[int]
    number: Mapped[int]
    name: Mapped[str]
    fingerprint: Mapped[str]
    trail: Mapped[str]
    content: Mapped[dict[str, Any]] = mapped_column(JSON)
    first_run: Mapped[str]
    last_run: Mapped[str]
    posted_by: Mapped[str | None]  # the run whose review carries it
    comment_id: Mapped[int | None]  # the inline comment its thread began with
    created_at: Mapped[datetime]


class OutboxRow(Base):
    """One write to GitHub. It is looked for by its natural key before it is repeated after a crash."""

    __tablename__ = "outbox"
    __table_args__ = (
        UniqueConstraint("run_id", "step", "kind", name="one_write_per_step"),
        Index("writes_by_object", "kind", "remote_id"),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    run_id: Mapped[str]
    step: Mapped[str]
    kind: Mapped[str]  # check, review, comment, …
    state: Mapped[str]  # pending | done
    remote_id: Mapped[int | None]
    created_at: Mapped[datetime]
    done_at: Mapped[datetime | None]


IS_MOVE = text("(type LIKE 'run.%' OR type LIKE 'phase.%')")
"""An event that says whether a run worked or waited, or in which phase it is. Asked before each call of a model,
whatever else a run did."""


class EventRow(Base):
    """The ledger of events: append-only."""

    __tablename__ = "events"
    __table_args__ = (
        Index("events_by_trace", "trace", "id"),
        Index("events_by_type", "type", "time"),
        Index("events_of_moves", "trace", "id", sqlite_where=IS_MOVE, postgresql_where=IS_MOVE),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    trace: Mapped[str]
    time: Mapped[datetime]
    source: Mapped[str]
    type: Mapped[str]
    phase: Mapped[str | None]
    payload: Mapped[dict[str, Any]] = mapped_column(JSON)
    tokens: Mapped[int]
    cost: Mapped[float]
    duration: Mapped[float | None]


class ExecutorRow(Base):
    """The lease of a process on its executor id; lapsed, its workflows are recovered by another."""

    __tablename__ = "executors"

    id: Mapped[str] = mapped_column(primary_key=True)
    instance: Mapped[str]
    host: Mapped[str]
    pid: Mapped[int]
    lease_until: Mapped[datetime]


class WaitRow(Base):
    """A workflow that waits for a moment on our clock."""

    __tablename__ = "waits"

    workflow_id: Mapped[str] = mapped_column(primary_key=True)
    until: Mapped[datetime]
    reason: Mapped[str]


class LimitRow(Base):
    """Until when GitHub asked us not to send anything for an installation (0: the App itself)."""

    __tablename__ = "github_limits"

    installation_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    until: Mapped[datetime]
    reason: Mapped[str]
    streak: Mapped[int]


class CommandCountRow(Base):
    """A comment with commands of the last hour, so that one account cannot have any number of them answered."""

    __tablename__ = "commanded"

    guid: Mapped[str] = mapped_column(primary_key=True)  # of the delivery
    repository_id: Mapped[int]
    account_id: Mapped[int]
    at: Mapped[datetime] = mapped_column(index=True)
    told: Mapped[str]  # what whoever wrote it was told and is not told again: "quota", "refusal"


class WriteBudgetRow(Base):
    """Until when the writes of an installation use up the rate at which it may write (0: the App itself)."""

    __tablename__ = "write_budgets"

    installation_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    writes: Mapped[datetime]
    content: Mapped[datetime]  # of those that create content


class DismissalRow(Base):
    """A finding that a person with write access called wrong. It lasts until it is taken back."""

    __tablename__ = "dismissals"
    __table_args__ = (Index("dismissals_by_fingerprint", "repository_id", "fingerprint"),)

    id: Mapped[str] = mapped_column(primary_key=True)
    repository_id: Mapped[int]
    number: Mapped[int]
    name: Mapped[str]
    fingerprint: Mapped[str]
    rule: Mapped[str]
    path: Mapped[str]
    place: Mapped[str] = mapped_column(server_default="")  # where another wording of it is the same finding
    by_id: Mapped[int]
    by_login: Mapped[str]
    by_role: Mapped[str] = mapped_column(server_default="")  # at that moment; empty where it is not known
    reason: Mapped[str] = mapped_column(Text)
    memory_id: Mapped[str]  # empty if nothing was to be learned
    created_at: Mapped[datetime]
    undone_at: Mapped[datetime | None]


class MemoryRow(Base):
    """Something Forge learned; see :class:`domain.memories.memory.Memory`.

    ``last_accessed`` and ``access_count`` tell when it was recalled, ``used_at`` when something became of it; None,
    if a version that does not know of that made it: then, when it was made.
    """

    __tablename__ = "memories"
    __table_args__ = (
        Index("memories_by_repository", "repository_id", "archived_at"),
        Index("memories_by_installation", "installation_id", "scope", "archived_at"),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    installation_id: Mapped[int] = mapped_column(server_default="0")
    repository_id: Mapped[int]
    scope: Mapped[str] = mapped_column(server_default="repository")
    kind: Mapped[str]
    content: Mapped[str] = mapped_column(Text)
    context: Mapped[str] = mapped_column(Text)
    tags: Mapped[list[str]] = mapped_column(JSON)
    confidence: Mapped[float]
    source: Mapped[str]
    created_at: Mapped[datetime]
    origin: Mapped[str] = mapped_column(server_default="person")
    pinned: Mapped[bool] = mapped_column(server_default=false())
    last_accessed: Mapped[datetime]
    access_count: Mapped[int]
    used_at: Mapped[datetime | None]
    archived_at: Mapped[datetime | None]
    archived_why: Mapped[str] = mapped_column(server_default="")


class MemoryUseRow(Base):
    """What became of a memory once, by whatever caused it: a run, a finding, a delivery."""

    __tablename__ = "memory_uses"

    memory_id: Mapped[str] = mapped_column(primary_key=True)
    use: Mapped[str] = mapped_column(primary_key=True)
    cause: Mapped[str] = mapped_column(primary_key=True)
    at: Mapped[datetime]


class MemoryVectorRow(Base):
    """What a model made of a live memory: numbers of four bytes, by which memories of a like meaning are found.

    ``dimensions`` counts the numbers, and is 0 if a version that knows nothing of ``signs`` made the vector. That has a
    bit for each of the first numbers, in hexadecimal on SQLite; see :mod:`memory.learned.vectors`.
    """

    __tablename__ = "memory_vectors"
    __table_args__ = (Index("memory_vectors_by_signs", "repository_id", "model", "dimensions", "memory_id", "signs"),)

    repository_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    memory_id: Mapped[str] = mapped_column(primary_key=True)
    model: Mapped[str] = mapped_column(primary_key=True)
    vector: Mapped[bytes]
    dimensions: Mapped[int] = mapped_column(server_default="0")
    signs: Mapped[str] = mapped_column(String().with_variant(BIT(varying=True), "postgresql"), server_default="")


class RecallRow(Base):
    """A memory that an agent was told, and what became of that: nothing yet, ``helped`` or ``ignored``."""

    __tablename__ = "recalls"
    __table_args__ = (Index("recalls_by_memory", "memory_id"),)

    run_id: Mapped[str] = mapped_column(primary_key=True)
    task: Mapped[str] = mapped_column(primary_key=True)
    memory_id: Mapped[str] = mapped_column(primary_key=True)
    phase: Mapped[str]
    rank: Mapped[int]
    at: Mapped[datetime]
    outcome: Mapped[str] = mapped_column(server_default="")
    known_at: Mapped[datetime | None]  # when its outcome was known


class PauseRow(Base):
    """A repository in which a person told Forge to stop."""

    __tablename__ = "pauses"

    repository_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    by_login: Mapped[str]
    since: Mapped[datetime]


class OkRow(Base):
    """A person with write access let a stranger's head be looked at by everything (T-F1)."""

    __tablename__ = "oks"

    repository_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    head_sha: Mapped[str] = mapped_column(primary_key=True)
    by_id: Mapped[int]
    by_login: Mapped[str]
    given_at: Mapped[datetime]


class PushRow(Base):
    """Somebody pushed a head to a pull request: who wrote a change does not decide about it."""

    __tablename__ = "pushes"

    repository_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    head_sha: Mapped[str] = mapped_column(primary_key=True)
    by_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    at: Mapped[datetime]  # as GitHub says


class SpendRow(Base):
    """One call of a model: what it was reserved for, and what it cost in the end. Money in micro-USD."""

    __tablename__ = "spend"
    __table_args__ = (
        Index("spend_by_run", "run_id", "phase", "step"),
        Index("spend_by_repository", "repository_id", "day"),
        Index("spend_by_installation", "installation_id", "day"),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    run_id: Mapped[str]
    repository_id: Mapped[int]
    installation_id: Mapped[int]
    phase: Mapped[str]
    step: Mapped[str]
    model: Mapped[str]
    day: Mapped[str]  # of the reservation, in UTC: 2026-01-31
    state: Mapped[str]  # reserved | settled | lost
    reserved: Mapped[int]
    amount: Mapped[int]  # what counts against the limits now
    input_tokens: Mapped[int]
    output_tokens: Mapped[int]
    cache_read_tokens: Mapped[int]
    cache_write_tokens: Mapped[int]
    outcome: Mapped[str]  # answered | failed | lost; empty while reserved
    problem: Mapped[str] = mapped_column(Text)
    seconds: Mapped[float]
    reserved_at: Mapped[datetime]
    settled_at: Mapped[datetime | None]


class BudgetRow(Base):
    """What people granted beyond the configured limits, per run and phase: micro-USD, or calls of a model."""

    __tablename__ = "budgets"

    scope: Mapped[str] = mapped_column(primary_key=True)  # run:ID/PHASE | calls:ID/PHASE | granted by:ID/CAUSE
    granted: Mapped[int]


class AnswerRow(Base):
    """What a model answered in a run, by what it was asked: nobody pays for the same answer twice.

    What guards see of a turn is kept beside it: an answer can be large, and they look before each call.
    """

    __tablename__ = "answers"

    run_id: Mapped[str] = mapped_column(primary_key=True)
    question: Mapped[str] = mapped_column(primary_key=True)  # a digest
    value: Mapped[dict[str, Any]] = mapped_column(JSON)
    turn: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    time: Mapped[datetime]


class GateRow(Base):
    """A question to a person, and the answer. One per run, name and subject."""

    __tablename__ = "gates"
    __table_args__ = (
        UniqueConstraint("run_id", "name", "subject", name="gate_identity"),
        Index("gates_of_pull_request", "repository_id", "number", "state"),
        Index("gates_by_deadline", "state", "until"),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    run_id: Mapped[str]
    installation_id: Mapped[int]
    repository_id: Mapped[int]
    owner: Mapped[str]
    repository_name: Mapped[str]
    number: Mapped[int]
    head_sha: Mapped[str]
    name: Mapped[str]
    subject: Mapped[str]
    request: Mapped[dict[str, Any]] = mapped_column(JSON)
    state: Mapped[str]
    asked_at: Mapped[datetime]
    until: Mapped[datetime]
    decision: Mapped[dict[str, Any] | None] = mapped_column(JSON)
    decided_at: Mapped[datetime | None]
    delegate: Mapped[str | None]
    check_id: Mapped[int | None]
    comment_id: Mapped[int | None]


class CircuitRow(Base):
    """The error-rate breaker of one provider in one repository."""

    __tablename__ = "circuits"

    repository_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    provider: Mapped[str] = mapped_column(primary_key=True)
    circuit: Mapped[dict[str, Any]] = mapped_column(JSON)


class HaltRow(Base):
    """The operator told every process to stop; there is one row, or none."""

    __tablename__ = "halts"

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    why: Mapped[str] = mapped_column(Text)
    since: Mapped[datetime]


class LadderRow(Base):
    """The automation level of a repository, and since which run it is counted for the next one."""

    __tablename__ = "ladders"

    repository_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    level: Mapped[int]
    since: Mapped[datetime]
    by_login: Mapped[str]  # who set it; empty: earned


class MissedBugRow(Base):
    """A critical bug that Forge did not see, as a person reported it or a revert shows."""

    __tablename__ = "missed"
    __table_args__ = (Index("missed_by_repository", "repository_id", "time"),)

    id: Mapped[str] = mapped_column(primary_key=True)
    repository_id: Mapped[int]
    number: Mapped[int]
    run_id: Mapped[str | None]  # the newest finished run there
    by_login: Mapped[str]
    description: Mapped[str] = mapped_column(Text)
    cause: Mapped[str] = mapped_column(unique=True)  # the delivery
    time: Mapped[datetime]


class ContractLeaseRow(Base):
    """Which run holds a contract of a repository; the row stays when nobody does, so that tokens only grow."""

    __tablename__ = "contract_leases"
    __table_args__ = (Index("contract_leases_by_end", "until"),)

    repository_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    contract: Mapped[str] = mapped_column(primary_key=True)
    holder: Mapped[str]  # the id of the run; empty: nobody
    token: Mapped[int]
    until: Mapped[datetime]


class ConfigurationRow(Base):
    """The last valid version of a configuration file; it holds while the file is broken."""

    __tablename__ = "configurations"

    scope: Mapped[str] = mapped_column(primary_key=True)  # repository ID | organisation INSTALLATION
    installation_id: Mapped[int] = mapped_column(index=True)
    sha: Mapped[str]  # of the blob
    content: Mapped[dict[str, Any]] = mapped_column(JSON)  # what the file itself says


class PurgeRow(Base):
    """A repository that Forge lost, of which no process keeps a copy; gone when a run begins there again."""

    __tablename__ = "purges"

    repository_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    at: Mapped[datetime]
