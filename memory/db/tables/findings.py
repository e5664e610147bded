"""The tables of what people decide about: findings, their words on them, and gates."""

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, ColumnElement, Index, Text, UniqueConstraint, and_
from sqlalchemy.orm import Mapped, mapped_column

from domain.review.feedback import Word
from memory.db.engine import TableRow


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
