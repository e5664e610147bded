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
    posted_by: Mapped[str | None]  # the run whose review carries it
    comment_id: Mapped[int | None]  # the inline comment its thread began with
    created_at: Mapped[datetime]


class DismissalRow(TableRow):
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
