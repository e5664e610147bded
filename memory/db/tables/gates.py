"""The table of gates."""

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, Index, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from memory.db.engine import TableRow


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
