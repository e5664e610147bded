"""The tables of runs: their states, fencing tokens, checkpoints, writes to GitHub, waits and contracts."""

from datetime import datetime
from typing import Any, cast

from sqlalchemy import JSON, Index, LargeBinary, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from domain.runs.run import REVIEW_CHECK, ExecutionMode, ReasonCode, RepositoryRef, Run, RunState, Trigger
from memory.db.engine import TableRow


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
    base_ref: Mapped[str] = mapped_column(server_default="")  # empty in rows of older versions
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

    def as_run(self) -> Run:
        """The run of this row."""
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
            mode=cast(ExecutionMode | None, self.mode),
            lane=self.lane,
        )


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
