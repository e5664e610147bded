"""The tables of repositories: pauses, what people allowed, configurations, purges, levels, and missed bugs."""

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, Index, Text
from sqlalchemy.orm import Mapped, mapped_column

from memory.db.engine import TableRow

EVERYWHERE = 0  # in place of a repository


class PauseRow(TableRow):
    """A repository in which a person paused Forge; 0: all of them, which the operator halted."""

    __tablename__ = "pauses"

    repository_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    by_login: Mapped[str]
    why: Mapped[str] = mapped_column(Text, server_default="")
    since: Mapped[datetime]


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


class PurgeRow(TableRow):
    """A repository that Forge lost, of which no process may keep a copy; deleted when a run begins there again."""

    __tablename__ = "purges"

    repository_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    at: Mapped[datetime]


class WelcomeRow(TableRow):
    """A repository that was told what Forge does there; it stays when Forge loses the repository, so that this is once.

    Its overview does not stay: that tells of the repository.
    """

    __tablename__ = "welcomes"

    repository_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    installation_id: Mapped[int] = mapped_column(index=True)
    way: Mapped[str]  # issue | check | off
    cause: Mapped[str]  # the delivery that told of the installation
    at: Mapped[datetime]
    run_id: Mapped[str | None]  # the run whose check shows it
    overview: Mapped[dict[str, Any] | None] = mapped_column(JSON)  # what it says there


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
