"""The tables of repositories: what was decided about each, what people allowed, and configurations."""

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, Text
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from memory.db.engine import TableRow, upsert

EVERYWHERE = 0  # in place of a repository


class RepositoryRow(TableRow):
    """What was decided about a repository; 0: about all of them, which the operator halts.

    It is there from the first decision on, and stays when Forge loses the repository, so that a welcome is said once.
    """

    __tablename__ = "repositories"

    repository_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    paused_since: Mapped[datetime | None]  # None: it is not paused
    paused_by: Mapped[str | None]
    paused_why: Mapped[str | None] = mapped_column(Text)
    level: Mapped[int | None]  # of automation; None: it never left the first
    level_since: Mapped[datetime | None]
    level_by: Mapped[str | None]  # who set it; empty: earned
    missed: Mapped[dict[str, str] | None] = mapped_column(JSON(none_as_null=True))  # bugs: the delivery → when
    lost_at: Mapped[datetime | None]  # no process may keep a copy; None once a run begins there again
    welcome: Mapped[str | None]  # how it was told what Forge does there: issue | check | off; None: it was not
    welcome_cause: Mapped[str | None]  # the delivery that told of the installation
    welcome_run_id: Mapped[str | None]  # the run whose check shows it
    overview: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))  # what it says there
    installation_id: Mapped[int | None] = mapped_column(index=True)  # when it was welcomed

    def end_pause(self) -> None:
        self.paused_since = self.paused_by = self.paused_why = None


async def hold(session: AsyncSession, dialect: str, repository_id: int) -> RepositoryRow:
    """The row of a repository, which nobody else changes until the transaction ends."""
    held = upsert(dialect, RepositoryRow, {"repository_id": repository_id}, {}).returning(RepositoryRow)
    return (await session.scalars(held, execution_options={"populate_existing": True})).one()


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
