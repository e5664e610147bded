"""The tables of runs and what belongs to them: events, money, checkpoints, writes to GitHub, waits and contracts."""

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, Index, LargeBinary, Text, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from domain.runs.run import REVIEW_CHECK, RepositoryRef, Run
from memory.db.engine import TableRow

IS_MOVE = text("(type LIKE 'run.%' OR type LIKE 'phase.%')")
"""Events that say whether a run works or waits, or in which phase it is. Read before each model call, so they have an
index of their own."""
IS_AUDITED = text(
    "(type LIKE 'gate.%' OR type LIKE 'breaker.%' OR type LIKE 'guard.%' OR type LIKE 'ladder.%' "
    "OR type LIKE 'safety.%' OR type LIKE 'feedback.%' OR type LIKE 'checkpoint.%' "
    "OR type IN ('budget.granted', 'budget.refused', 'permission.refused', 'memory.stored', 'memory.edited', "
    "'memory.archived'))"
)
"""Events among which are all that the audit lists. They are few of all, and are listed in the order of their times."""
IS_BESIDE_RUNS = text("length(trace) <> 26")
"""Events that belong to a delivery or to the operator: the id of a run has 26 characters."""


class PullRequestRow(TableRow):
    """The fencing token of a pull request or issue: only the run that holds the current one may write.

    A deployment or an instruction has one of its own, under a negative number.
    """

    __tablename__ = "pull_requests"

    repository_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    fence: Mapped[int]
    title: Mapped[str] = mapped_column(Text, server_default="")  # when the latest run began; empty: not known
    left_alone_by: Mapped[str | None]  # who told Forge to do nothing here unless asked


class RunRow(TableRow):
    """One run. Its natural key is unique: repository, number, head, base, trigger, attempt.

    The indexes end with the id, because who looks for several runs wants them in order; SQLite would otherwise read all
    runs of a repository in order instead of the few that match.
    """

    __tablename__ = "runs"
    __table_args__ = (
        UniqueConstraint("repository_id", "number", "head_sha", "base_sha", "trigger", "attempt", name="natural_key"),
        Index("runs_by_state", "state"),
        Index("runs_by_head", "repository_id", "head_sha", "id"),
        Index("runs_by_repository", "repository_id", "id"),
        Index("runs_by_repository_and_state", "repository_id", "state", "id"),
        Index("runs_by_number", "repository_id", "number", "id"),
        Index("runs_by_name", "owner", "name", "id"),
        Index("runs_by_check", "check_due"),
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
    base_ref: Mapped[str]
    check_name: Mapped[str] = mapped_column(server_default=REVIEW_CHECK)
    mode: Mapped[str | None]  # that somebody asked for; None: the configuration's
    lane: Mapped[int | None]  # what the fencing token guards of what goes on beside reviews; None: its number
    trigger: Mapped[str]
    attempt: Mapped[int]
    fence: Mapped[int]
    state: Mapped[str]
    reason: Mapped[str]
    detail: Mapped[str] = mapped_column(Text)  # for people
    ended_by: Mapped[str | None]  # the run or delivery that ended it; None while it works, or if it ended by itself
    resumed_by: Mapped[str | None]  # the delivery that resumed it last
    sender_id: Mapped[int | None]  # the account whose delivery began it
    created_at: Mapped[datetime]
    started_at: Mapped[datetime | None]
    finished_at: Mapped[datetime | None]
    check_due: Mapped[datetime | None]  # when it is next checked whether it may act, or need not wait any more
    check_cause: Mapped[str | None]  # head | contracts | tests
    check_number: Mapped[int | None]  # tells the checks of one cause apart

    @property
    def repository(self) -> RepositoryRef:
        return RepositoryRef(
            installation_id=self.installation_id, id=self.repository_id, owner=self.owner, name=self.name
        )

    def as_run(self) -> Run:
        """The run of this row."""
        return Run.model_validate(self, from_attributes=True)


class CheckpointRow(TableRow):
    """The output of a phase, from which a run continues."""

    __tablename__ = "checkpoints"
    __table_args__ = (UniqueConstraint("run_id", "phase", name="checkpoint_of_phase"),)

    id: Mapped[str] = mapped_column(primary_key=True)
    run_id: Mapped[str]
    phase: Mapped[str]
    output: Mapped[dict[str, Any]] = mapped_column(JSON)
    time: Mapped[datetime]


class WorkCheckpointRow(TableRow):
    """What an agent had changed at a moment of its work, or that a person took it back."""

    __tablename__ = "work_checkpoints"
    __table_args__ = (
        UniqueConstraint("run_id", "work", "base", "number", name="one_chain_per_work"),
        Index("work_checkpoints_by_time", "time"),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    run_id: Mapped[str]
    work: Mapped[str]
    base: Mapped[str]
    number: Mapped[int]
    cause: Mapped[str]
    digest: Mapped[str]
    content: Mapped[bytes] = mapped_column(LargeBinary)  # compressed; empty for a roll-back
    details: Mapped[dict[str, Any]] = mapped_column(JSON)
    time: Mapped[datetime]


class RecoveryRow(TableRow):
    """An attempt of an agent to recover from giving up in disguise, with what was caught before it."""

    __tablename__ = "recovery_attempts"
    __table_args__ = (
        UniqueConstraint("run_id", "tried", name="one_recovery_per_try"),
        Index("recoveries_of_issue", "repository_id", "number"),
        Index("recoveries_by_time", "time"),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    run_id: Mapped[str]
    repository_id: Mapped[int]
    number: Mapped[int]  # of the issue
    work: Mapped[str]
    tried: Mapped[str]  # the try that was caught
    trouble: Mapped[list[Any]] = mapped_column(JSON)  # kinds, files, and what was done
    strategy: Mapped[str | None]
    said: Mapped[str]  # the agent's answer
    outcome: Mapped[str]
    details: Mapped[dict[str, Any]] = mapped_column(JSON)
    time: Mapped[datetime]  # when the attempt began


class OutboxRow(TableRow):
    """One write to GitHub. After a crash, Forge looks for it by its natural key before it repeats it."""

    __tablename__ = "outbox"
    __table_args__ = (
        UniqueConstraint("run_id", "step", "kind", name="one_write_per_step"),
        Index("writes_by_object", "kind", "remote_id"),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    run_id: Mapped[str]
    step: Mapped[str]
    kind: Mapped[str]  # check, review, comment, label, push, merge, description, pull_request, …
    head_sha: Mapped[str | None]  # the tested head, for a check that shows tests; None for other writes
    occasion: Mapped[str | None]  # tells one testing of this head from another
    state: Mapped[str]  # pending | done
    remote_id: Mapped[int | None]
    created_at: Mapped[datetime]
    done_at: Mapped[datetime | None]


class WaitRow(TableRow):
    """A workflow that waits until a time on our clock."""

    __tablename__ = "waits"

    workflow_id: Mapped[str] = mapped_column(primary_key=True)
    until: Mapped[datetime]
    reason: Mapped[str]


class ContractLeaseRow(TableRow):
    """Which run holds a contract of a repository; the row stays when no run does, so that tokens only grow."""

    __tablename__ = "contract_leases"
    __table_args__ = (Index("contract_leases_by_end", "until"),)

    repository_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    contract: Mapped[str] = mapped_column(primary_key=True)
    holder: Mapped[str]  # the id of the run; empty: none
    token: Mapped[int]
    until: Mapped[datetime]


class EventRow(TableRow):
    """The ledger of events: append-only."""

    __tablename__ = "events"
    __table_args__ = (
        Index("events_by_trace", "trace", "id"),
        Index("events_by_type", "type", "time"),
        Index("events_of_audit", "time", "id", "trace", "type", sqlite_where=IS_AUDITED, postgresql_where=IS_AUDITED),
        Index("events_beside_runs", "time", sqlite_where=IS_BESIDE_RUNS, postgresql_where=IS_BESIDE_RUNS),
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


class MetricDayRow(TableRow):
    """The sums behind the metrics of a repository on a UTC day; see :mod:`memory.reports.metrics`."""

    __tablename__ = "metric_days"

    repository_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)  # 0: all together
    day: Mapped[str] = mapped_column(primary_key=True)  # in UTC: 2026-01-31
    stamp: Mapped[str]  # of the runs that began on it
    sums: Mapped[dict[str, Any]] = mapped_column(JSON)  # metric → sum of the values, of how many


class SpendRow(TableRow):
    """One model call: what was reserved for it, and what it cost, in micro-USD."""

    __tablename__ = "spend"
    __table_args__ = (
        Index("spend_by_run", "run_id", "phase", "step"),
        Index(
            "spend_of_days",  # all that a report sums up, so that it reads no row
            "repository_id",
            "day",
            "phase",
            "model",
            "run_id",
            "state",
            "amount",
            "input_tokens",
            "output_tokens",
            "cache_read_tokens",
            "cache_write_tokens",
        ),
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
    outcome: Mapped[str]  # answered | failed | refused | lost; empty while reserved
    problem: Mapped[str] = mapped_column(Text)
    seconds: Mapped[float]
    reserved_at: Mapped[datetime]
    settled_at: Mapped[datetime | None]


class BudgetRow(TableRow):
    """What people granted beyond the configured limits, per run and phase: micro-USD, or model calls."""

    __tablename__ = "budgets"

    scope: Mapped[str] = mapped_column(primary_key=True)  # run:ID/PHASE | calls:ID/PHASE | granted by:ID/CAUSE
    granted: Mapped[int]


class AnswerRow(TableRow):
    """A model's answer in a run, by its question, so that nobody pays for the same answer twice.

    What guards see of a turn is stored beside it, because an answer can be large, and guards look before each call.
    """

    __tablename__ = "answers"

    run_id: Mapped[str] = mapped_column(primary_key=True)
    question: Mapped[str] = mapped_column(primary_key=True)  # a digest
    value: Mapped[dict[str, Any]] = mapped_column(JSON)
    turn: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    time: Mapped[datetime]


class CircuitRow(TableRow):
    """The error-rate breaker of one provider in one repository."""

    __tablename__ = "circuits"

    repository_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    provider: Mapped[str] = mapped_column(primary_key=True)
    circuit: Mapped[dict[str, Any]] = mapped_column(JSON)
