"""The tables of deployments, and of what monitoring reports from production."""

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, Float, Index, Text, UniqueConstraint, false
from sqlalchemy.orm import Mapped, mapped_column

from memory.db.engine import TableRow


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
    previous_sha: Mapped[str]
    cause: Mapped[str]
    ordered_by: Mapped[str]  # login
    risk: Mapped[str | None]
    state: Mapped[str]
    percentage: Mapped[int]
    detail: Mapped[str] = mapped_column(Text)  # for people
    wish: Mapped[str | None]  # what a person asked of it; None once it was done
    wished_by: Mapped[str]
    github_id: Mapped[int | None]  # of the deployment on GitHub
    steps: Mapped[list[dict[str, Any]]] = mapped_column(JSON)  # what was deployed and watched
    kept: Mapped[dict[str, Any]] = mapped_column(JSON)  # what later executions of the run need, by name
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
    suspects: Mapped[list[dict[str, Any]]] = mapped_column(JSON)
    issue: Mapped[int | None]
    opened: Mapped[int]  # issues so far
    opened_at: Mapped[datetime | None]  # the newest issue
    shown_at: Mapped[datetime | None]
    closed_at: Mapped[datetime | None]
    resolved_at: Mapped[datetime | None]  # as monitoring says, until it reports the problem again
    learned_from: Mapped[int | None]  # pull request that solved it
    queued_at: Mapped[datetime | None]  # of the workflow that has not begun with it yet
    said: Mapped[str] = mapped_column(Text)  # why nobody was told, for people
