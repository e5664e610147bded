"""The tables of automation: the level of each repository, and the bugs Forge missed."""

from datetime import datetime

from sqlalchemy import Index, Text
from sqlalchemy.orm import Mapped, mapped_column

from memory.db.engine import TableRow


class LadderRow(TableRow):
    """The automation level of a repository, and since when it has it."""

    __tablename__ = "ladders"

    repository_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    level: Mapped[int]
    since: Mapped[datetime]
    by_login: Mapped[str]  # who set it; empty: earned


class MissedBugRow(TableRow):
    """A critical bug that Forge missed, reported by a person or shown by a revert."""

    __tablename__ = "missed"
    __table_args__ = (Index("missed_by_repository", "repository_id", "time"),)

    id: Mapped[str] = mapped_column(primary_key=True)
    repository_id: Mapped[int]
    number: Mapped[int]
    run_id: Mapped[str | None]  # the newest finished run there
    by_login: Mapped[str]
    description: Mapped[str] = mapped_column(Text)
    cause: Mapped[str] = mapped_column(unique=True)  # the delivery
    time: Mapped[datetime]
