"""The tables of findings and dismissals."""

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, Index, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from memory.db.engine import TableRow


class FindingRow(TableRow):
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
    posted_by: Mapped[str | None]  # the run whose review contains it
    comment_id: Mapped[int | None]  # the first inline comment of its thread
    created_at: Mapped[datetime]


class DismissalRow(TableRow):
    """A dismissal of a finding by a person with write access. It lasts until it is undone."""

    __tablename__ = "dismissals"
    __table_args__ = (Index("dismissals_by_fingerprint", "repository_id", "fingerprint"),)

    id: Mapped[str] = mapped_column(primary_key=True)
    repository_id: Mapped[int]
    number: Mapped[int]
    name: Mapped[str]
    fingerprint: Mapped[str]
    rule: Mapped[str]
    path: Mapped[str]
    place: Mapped[str] = mapped_column(server_default="")  # where a finding in other words is the same one
    by_id: Mapped[int]
    by_login: Mapped[str]
    by_role: Mapped[str] = mapped_column(server_default="")  # at that time; empty if it is not known
    reason: Mapped[str] = mapped_column(Text)
    memory_id: Mapped[str]  # empty if nothing was learned
    created_at: Mapped[datetime]
    undone_at: Mapped[datetime | None]
