"""The tables of what processes share: their leases, GitHub's rate limits, and who is signed in to the dashboard."""

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, Index
from sqlalchemy.orm import Mapped, mapped_column

from memory.db.engine import TableRow


class ExecutorRow(TableRow):
    """The lease of a process on its executor id; when it lapses, another process recovers its workflows.

    A process that only takes webhooks has one, too, so that whoever works has GitHub repeat what it missed.
    """

    __tablename__ = "executors"

    id: Mapped[str] = mapped_column(primary_key=True)
    instance: Mapped[str]
    host: Mapped[str]
    pid: Mapped[int]
    lease_until: Mapped[datetime]


class LimitRow(TableRow):
    """Until when Forge sends nothing to GitHub for an installation (0: the App itself), or only no writes."""

    __tablename__ = "github_limits"

    installation_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    until: Mapped[datetime | None]  # as GitHub asked; None: it asks for nothing
    reason: Mapped[str] = mapped_column(server_default="")
    streak: Mapped[int] = mapped_column(server_default="0")
    writes: Mapped[datetime | None]  # until then they have used up their rate
    content: Mapped[datetime | None]  # the same for writes that create content


class SessionRow(TableRow):
    """A person who is signed in. Only a digest of the random id in their cookie is kept."""

    __tablename__ = "sessions"
    __table_args__ = (
        Index("sessions_by_account", "account_id", "created_at"),
        Index("sessions_by_start", "created_at"),
    )

    digest: Mapped[str] = mapped_column(primary_key=True)
    account_id: Mapped[int]
    login: Mapped[str]
    candidates: Mapped[list[Any]] = mapped_column(JSON)  # repositories that GitHub listed at the sign-in
    created_at: Mapped[datetime]
    seen_at: Mapped[datetime]


class SignInRow(TableRow):
    """A sign-in that came back from GitHub, so that it counts once, and only so many count in a time."""

    __tablename__ = "sign_ins"
    __table_args__ = (Index("sign_ins_by_time", "at"),)

    digest: Mapped[str] = mapped_column(primary_key=True)  # of its state, or of what a known browser came with
    at: Mapped[datetime]
