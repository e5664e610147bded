"""The tables of the dashboard: who is signed in, and which sign-ins came back from GitHub."""

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, Index
from sqlalchemy.orm import Mapped, mapped_column

from memory.db.engine import TableRow


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
