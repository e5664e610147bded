"""Keeps which repositories were told what Forge does there, so that each is told once."""

from collections.abc import Sequence

from sqlalchemy import select

from domain.github.installations import RepositoryOverview, Welcome, WelcomeWay
from domain.runs.run import RepositoryRef
from memory.db.engine import Database
from memory.db.tables.repositories import RepositoryRow, hold


async def claim(database: Database, repository: RepositoryRef, way: WelcomeWay, cause: str) -> Welcome:
    """Decide how a repository is welcomed, unless that was decided before; what holds.

    :param cause: the delivery that told of the installation; the same one may claim again.
    """
    async with database.transaction() as session:
        row = await hold(session, database.dialect, repository.id)
        _claim(row, repository, way, cause)
        return _parse(row)


async def claim_all(database: Database, repositories: Sequence[RepositoryRef], way: WelcomeWay, cause: str) -> int:
    """As :func:`claim`, for many repositories; how many were not known."""
    async with database.transaction() as session:
        ordered = sorted(repositories, key=lambda each: each.id)
        return sum([_claim(await hold(session, database.dialect, each.id), each, way, cause) for each in ordered])


def _claim(row: RepositoryRow, repository: RepositoryRef, way: WelcomeWay, cause: str) -> bool:
    if row.welcome is not None:
        return False
    row.welcome, row.welcome_cause, row.installation_id = way.value, cause, repository.installation_id
    return True


async def list_repositories(database: Database, installation_id: int) -> Sequence[int]:
    """The repositories of an installation that were welcomed."""
    query = select(RepositoryRow.repository_id).where(RepositoryRow.installation_id == installation_id)
    return await database.scalars(query)


async def find(database: Database, repository_id: int) -> Welcome | None:
    """How a repository is welcomed; None if it never was."""
    row = await database.get(RepositoryRow, repository_id)
    return None if row is None or row.welcome is None else _parse(row)


async def change_way(database: Database, repository_id: int, way: WelcomeWay) -> None:
    """Welcome a repository in another way than was decided."""
    async with database.transaction() as session:
        (await hold(session, database.dialect, repository_id)).welcome = way.value


async def show_in(database: Database, repository_id: int, run_id: str, overview: RepositoryOverview) -> bool:
    """Let the check of a run show it, unless that of another run does; whether this run's does."""
    async with database.transaction() as session:
        row = await hold(session, database.dialect, repository_id)
        if row.welcome == WelcomeWay.check.value and row.welcome_run_id is None:
            row.welcome_run_id, row.overview = run_id, overview.model_dump(mode="json")
        return row.welcome == WelcomeWay.check.value and row.welcome_run_id == run_id


def _parse(row: RepositoryRow) -> Welcome:
    return Welcome.model_validate(
        {
            "repository_id": row.repository_id,
            "way": row.welcome,
            "cause": row.welcome_cause,
            "run_id": row.welcome_run_id,
            "overview": row.overview,
        }
    )
