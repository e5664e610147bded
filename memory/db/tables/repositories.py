"""The tables of repositories: what was decided, found, said, learned and deployed in each."""

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, ColumnElement, Float, Index, String, Text, UniqueConstraint, and_, false
from sqlalchemy.dialects.postgresql import BIT
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from domain.review.feedback import Word
from memory.db.engine import TableRow, upsert

EVERYWHERE = 0  # in place of a repository


class RepositoryRow(TableRow):
    """What was decided about a repository; 0: about all of them, which the operator halts.

    It is there from the first decision on, and stays when Forge loses the repository, so that a welcome is said once.
    """

    __tablename__ = "repositories"

    repository_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    paused_since: Mapped[datetime | None]  # None: it is not paused
    paused_by: Mapped[str | None]
    paused_why: Mapped[str | None] = mapped_column(Text)
    level: Mapped[int | None]  # of automation; None: it never left the first
    level_since: Mapped[datetime | None]
    level_by: Mapped[str | None]  # who set it; empty: earned
    missed: Mapped[dict[str, str] | None] = mapped_column(JSON(none_as_null=True))  # bugs: the delivery → when
    lost_at: Mapped[datetime | None]  # no process may keep a copy; None once a run begins there again
    welcome_cause: Mapped[str | None]  # the delivery that had it told what Forge does there; None: it was not
    installation_id: Mapped[int | None] = mapped_column(index=True)  # when it was welcomed

    def end_pause(self) -> None:
        self.paused_since = self.paused_by = self.paused_why = None


async def hold(session: AsyncSession, dialect: str, repository_id: int) -> RepositoryRow:
    """The row of a repository, which nobody else changes until the transaction ends."""
    held = upsert(dialect, RepositoryRow, {"repository_id": repository_id}, {}).returning(RepositoryRow)
    return (await session.scalars(held, execution_options={"populate_existing": True})).one()


class AssentRow(TableRow):
    """Somebody let a stranger's head be looked at (T-F1), or said what takes effect once a second person does, too."""

    __tablename__ = "assents"

    repository_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    said: Mapped[str] = mapped_column(primary_key=True)
    by_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    by_login: Mapped[str]
    at: Mapped[datetime] = mapped_column(index=True)


class ConfigurationRow(TableRow):
    """The last valid version of a configuration file; it applies while the file is broken."""

    __tablename__ = "configurations"

    scope: Mapped[str] = mapped_column(primary_key=True)  # repository ID | organisation INSTALLATION
    installation_id: Mapped[int] = mapped_column(index=True)
    sha: Mapped[str]  # of the blob
    content: Mapped[dict[str, Any]] = mapped_column(JSON)  # what the file itself says


class MemoryRow(TableRow):
    """Something Forge learned; see :class:`domain.memories.Memory`.

    ``last_accessed`` and ``access_count`` are about its recalls, ``used_at`` is about its uses.
    """

    __tablename__ = "memories"
    __table_args__ = (
        Index("memories_by_repository", "repository_id", "archived_at"),
        Index("memories_in_order", "repository_id", "id"),
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
    taught_by: Mapped[int] = mapped_column(server_default="0")
    last_accessed: Mapped[datetime]
    access_count: Mapped[int]
    used_at: Mapped[datetime]
    archived_at: Mapped[datetime | None]
    archived_why: Mapped[str | None]


class MemoryUseRow(TableRow):
    """A use of a memory, once for each cause: a run, a finding or a delivery."""

    __tablename__ = "memory_uses"

    memory_id: Mapped[str] = mapped_column(primary_key=True)
    use: Mapped[str] = mapped_column(primary_key=True)
    cause: Mapped[str] = mapped_column(primary_key=True)
    at: Mapped[datetime]


class MemoryVectorRow(TableRow):
    """A model's embedding of a live memory, in numbers of four bytes, to find memories of similar meaning.

    ``dimensions`` counts the numbers. ``signs`` has a bit for each of the first, in hexadecimal on SQLite; see
    :mod:`memory.learned.vectors`.
    """

    __tablename__ = "memory_vectors"
    __table_args__ = (Index("memory_vectors_by_signs", "repository_id", "model", "dimensions", "memory_id", "signs"),)

    repository_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    memory_id: Mapped[str] = mapped_column(primary_key=True)
    model: Mapped[str] = mapped_column(primary_key=True)
    vector: Mapped[bytes]
    dimensions: Mapped[int] = mapped_column(server_default="0")
    signs: Mapped[str] = mapped_column(String().with_variant(BIT(varying=True), "postgresql"), server_default="")


class RecallRow(TableRow):
    """A memory in the prompt of an agent, and its outcome: none yet, ``helped`` or ``ignored``."""

    __tablename__ = "recalls"
    __table_args__ = (Index("recalls_by_memory", "memory_id"),)

    run_id: Mapped[str] = mapped_column(primary_key=True)
    task: Mapped[str] = mapped_column(primary_key=True)
    memory_id: Mapped[str] = mapped_column(primary_key=True)
    phase: Mapped[str]
    rank: Mapped[int]
    at: Mapped[datetime]
    outcome: Mapped[str] = mapped_column(server_default="")


class FindingRow(TableRow):
    """A finding of a pull request; the fingerprint keeps it the same from push to push."""

    __tablename__ = "findings"
    __table_args__ = (
        UniqueConstraint("repository_id", "number", "fingerprint", name="finding_identity"),
        UniqueConstraint("repository_id", "number", "name", name="finding_name"),
        Index("findings_by_repository", "repository_id", "id"),
        Index("findings_by_review", "repository_id", "posted_by", "id"),
        Index("findings_by_fingerprint", "repository_id", "fingerprint", "id"),
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
    posted_by: Mapped[str | None]  # the run whose review contains it
    comment_id: Mapped[int | None]  # the first inline comment of its thread
    created_at: Mapped[datetime]


class FeedbackRow(TableRow):
    """What a person said about a finding; see :mod:`domain.review.feedback`. It stands until somebody takes it back."""

    __tablename__ = "feedback"
    __table_args__ = (
        Index("feedback_by_fingerprint", "repository_id", "fingerprint"),
        Index("feedback_by_rule", "repository_id", "rule"),
        Index("feedback_by_memory", "memory_id"),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    repository_id: Mapped[int]
    number: Mapped[int]
    name: Mapped[str]
    fingerprint: Mapped[str]
    rule: Mapped[str]
    path: Mapped[str]
    place: Mapped[str] = mapped_column(server_default="")  # where a finding in other words is the same one
    word: Mapped[str]
    scope: Mapped[str] = mapped_column(server_default="")  # empty: nothing but this finding
    until: Mapped[datetime | None]  # then the scope ends
    version: Mapped[int] = mapped_column(server_default="0")  # of the detector, for the scope
    severity: Mapped[str] = mapped_column(server_default="warning")  # of the finding at that time
    reason: Mapped[str] = mapped_column(Text)
    by_id: Mapped[int]
    by_login: Mapped[str]
    by_role: Mapped[str] = mapped_column(server_default="")  # at that time; empty if it is not known
    head_sha: Mapped[str] = mapped_column(server_default="")
    shown: Mapped[str] = mapped_column(server_default="")  # a digest of the finding as people saw it
    cause: Mapped[str] = mapped_column(server_default="")
    memory_id: Mapped[str] = mapped_column(server_default="")  # empty if nothing was learned
    created_at: Mapped[datetime]
    undone_at: Mapped[datetime | None]


def is_dismissal(row: type[FeedbackRow] = FeedbackRow) -> ColumnElement[bool]:
    """For queries: it dismisses a finding, and nobody took that back.

    :param row: the table, or an alias of it.
    """
    return and_(row.word == Word.dismissed.value, row.undone_at.is_(None))


class GateRow(TableRow):
    """A question to a person, and the answer. One per run, name and subject."""

    __tablename__ = "gates"
    __table_args__ = (
        UniqueConstraint("run_id", "name", "subject", name="gate_identity"),
        Index("gates_of_pull_request", "repository_id", "number", "state"),
        Index("gates_by_deadline", "state", "until"),
        Index("gates_by_decision", "repository_id", "decided_at"),
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


class DeploymentRow(TableRow):
    """One deployment, which is carried out by the run with the same id."""

    __tablename__ = "deployments"
    __table_args__ = (Index("deployments_by_environment", "repository_id", "environment", "created_at"),)

    run_id: Mapped[str] = mapped_column(primary_key=True)
    repository_id: Mapped[int]
    number: Mapped[int]
    environment: Mapped[str]
    is_production: Mapped[bool]
    sha: Mapped[str]
    previous_sha: Mapped[str] = mapped_column(default="")
    cause: Mapped[str]
    ordered_by: Mapped[str]  # login
    risk: Mapped[str | None]
    state: Mapped[str]
    percentage: Mapped[int] = mapped_column(default=0)
    detail: Mapped[str] = mapped_column(Text, default="")  # for people
    wish: Mapped[str | None]  # what a person asked of it; None once it was done
    wished_by: Mapped[str] = mapped_column(default="")
    github_id: Mapped[int | None]  # of the deployment on GitHub
    steps: Mapped[list[dict[str, Any]]] = mapped_column(JSON, default=list)  # what was deployed and watched
    kept: Mapped[dict[str, Any]] = mapped_column(JSON, default=dict)  # what later executions of the run need, by name
    holds: Mapped[bool] = mapped_column(server_default=false())  # it works in its environment; nobody else may
    created_at: Mapped[datetime]
    finished_at: Mapped[datetime | None]


class FeedbackTokenRow(TableRow):
    """A token with which monitoring may tell of one repository."""

    __tablename__ = "feedback_tokens"

    id: Mapped[str] = mapped_column(primary_key=True)  # the first part of the token
    repository_id: Mapped[int] = mapped_column(index=True)
    name: Mapped[str]
    digest: Mapped[str]  # of the whole token
    created_at: Mapped[datetime]
    created_by: Mapped[str]  # who ran the command
    revoked_at: Mapped[datetime | None]
    used_at: Mapped[datetime | None]
    environment: Mapped[str | None]  # of reports that name none
    signing_secret: Mapped[str | None]  # of a sender that can only sign; needed as it is to check that
    allowance: Mapped[float] = mapped_column(Float)  # requests that may be made at once, as of allowed_at
    allowed_at: Mapped[datetime]


class ProblemRow(TableRow):
    """A problem in production, with counters instead of a row for each report."""

    __tablename__ = "problems"
    __table_args__ = (
        UniqueConstraint("repository_id", "fingerprint", name="problems_by_fingerprint"),
        Index("problems_by_issue", "repository_id", "issue"),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    repository_id: Mapped[int]
    fingerprint: Mapped[str]
    kind: Mapped[str]
    report: Mapped[dict[str, Any]] = mapped_column(JSON)  # the newest
    reports: Mapped[int]
    occurrences: Mapped[int]
    affected_users: Mapped[int]
    environments: Mapped[dict[str, Any]] = mapped_column(JSON)  # counters by name
    first_seen: Mapped[datetime]
    last_seen: Mapped[datetime]
    deployment_id: Mapped[str | None]  # run id of the deployment that it is thought to come from
    held_deployment_id: Mapped[str | None]  # that it asked to hold
    suspects: Mapped[list[dict[str, Any]]] = mapped_column(JSON, default=list)
    issue: Mapped[int | None]
    opened: Mapped[int] = mapped_column(default=0)  # issues so far
    opened_at: Mapped[datetime | None]  # the newest issue
    shown_at: Mapped[datetime | None]
    closed_at: Mapped[datetime | None]
    resolved_at: Mapped[datetime | None]  # as monitoring says, until it reports the problem again
    learned_from: Mapped[int | None]  # pull request that solved it
    queued_at: Mapped[datetime | None]  # of the workflow that has not begun with it yet
    said: Mapped[str] = mapped_column(Text, default="")  # why nobody was told, for people
