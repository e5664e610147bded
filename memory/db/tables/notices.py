"""The tables of notices: what is to be told, what was told to whom, and how the targets are."""

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, Index, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from memory.db.engine import TableRow


class NoticedEventRow(TableRow):
    """An event of the ledger of which nobody was told yet; written with it, deleted when its notices are there."""

    __tablename__ = "noticed_events"

    id: Mapped[str] = mapped_column(primary_key=True)  # of the event


class NoticeRow(TableRow):
    """A notice to one target. Its id is the same in every attempt, so that a receiver can drop a repeated one."""

    __tablename__ = "notices"
    __table_args__ = (
        UniqueConstraint("cause", "target", name="one_notice_per_cause"),
        Index("notices_by_state", "state", "target", "id"),
        Index("notices_of_target", "target", "repository_id", "created_at"),
        Index("notices_by_end", "ended_at"),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    cause: Mapped[str]
    target: Mapped[str]  # the name of the operator's, or REPOSITORY URL
    repository_id: Mapped[int]  # 0: of none
    type: Mapped[str]
    content: Mapped[dict[str, Any]] = mapped_column(JSON)
    more: Mapped[dict[str, Any]] = mapped_column(JSON)  # of the notices that it stands for, how many by type
    state: Mapped[str]  # waiting | sending | sent | failed
    created_at: Mapped[datetime]
    due_at: Mapped[datetime]
    attempts: Mapped[int]
    problem: Mapped[str] = mapped_column(Text)  # of the last attempt
    ended_at: Mapped[datetime | None]


class NoticeTargetRow(TableRow):
    """How a target is: whether it is tried again and when, and which process sends to it."""

    __tablename__ = "notice_targets"

    target: Mapped[str] = mapped_column(primary_key=True)
    repository_id: Mapped[int]  # whose configuration names its address; 0: the operator's own
    failures: Mapped[int]  # in a row
    failing_since: Mapped[datetime | None]
    problem: Mapped[str] = mapped_column(Text)
    retry_at: Mapped[datetime]
    gone_at: Mapped[datetime | None]
    sent_at: Mapped[datetime | None]
    holder: Mapped[str]
    lease_until: Mapped[datetime]
