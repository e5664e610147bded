"""Keeps which repositories were told what Forge does there, so that each is told once."""

from collections.abc import Sequence

from sqlalchemy import select

from domain.runs.run import RepositoryRef
from memory.db.engine import Database
from memory.db.tables.repositories import RepositoryRow, hold


async def claim(database: Database, repository: RepositoryRef, cause: str) -> bool:
    """Whether a delivery may welcome a repository: no other one did, or will.

    :param cause: the delivery that told of the installation; the same one may claim again.
    """
    async with database.transaction() as session:
        row = await hold(session, database.dialect, repository.id)
        if row.welcome_cause is None:
            row.welcome_cause, row.installation_id = cause, repository.installation_id
        return row.welcome_cause == cause


async def find(database: Database, repository_id: int) -> str | None:
    """The delivery that had a repository welcomed; None if it never was."""
    row = await database.get(RepositoryRow, repository_id)
    return None if row is None else row.welcome_cause


async def list_repositories(database: Database, installation_id: int) -> Sequence[int]:
    """The repositories of an installation that were welcomed."""
    query = select(RepositoryRow.repository_id).where(RepositoryRow.installation_id == installation_id)
    return await database.scalars(query)
