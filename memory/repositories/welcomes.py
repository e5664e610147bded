"""Keeps which repositories were told what Forge does there, so that each is told once."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import select, update

from domain.github.installations import RepositoryOverview, Welcome, WelcomeWay
from domain.runs.run import RepositoryRef
from memory.db.engine import Database, insert_new
from memory.db.tables.repositories import WelcomeRow


async def claim(database: Database, repository: RepositoryRef, way: WelcomeWay, cause: str, now: datetime) -> Welcome:
    """Decide how a repository is welcomed, unless that was decided before; what holds.

    :param cause: the delivery that told of the installation; the same one may claim again.
    """
    async with database.transaction() as session:
        await session.execute(insert_new(database.dialect, WelcomeRow, _to_values(repository, way, cause, now)))
        row = (await session.scalars(select(WelcomeRow).where(WelcomeRow.repository_id == repository.id))).one()
        return Welcome.model_validate(row, from_attributes=True)


async def claim_all(
    database: Database, repositories: Sequence[RepositoryRef], way: WelcomeWay, cause: str, now: datetime
) -> int:
    """As :func:`claim`, for many repositories; how many were not known."""
    count = 0
    async with database.transaction() as session:
        for each in sorted(repositories, key=lambda each: each.id):
            added = insert_new(database.dialect, WelcomeRow, _to_values(each, way, cause, now))
            count += (await session.execute(added.returning(WelcomeRow.repository_id))).first() is not None
    return count


async def list_repositories(database: Database, installation_id: int) -> Sequence[int]:
    """The repositories of an installation that were welcomed."""
    query = select(WelcomeRow.repository_id).where(WelcomeRow.installation_id == installation_id)
    return await database.scalars(query)


async def find(database: Database, repository_id: int) -> Welcome | None:
    """How a repository is welcomed; None if it never was."""
    row = await database.get(WelcomeRow, repository_id)
    return None if row is None else Welcome.model_validate(row, from_attributes=True)


async def change_way(database: Database, repository_id: int, way: WelcomeWay) -> None:
    """Welcome a repository in another way than was decided."""
    await database.execute(update(WelcomeRow).where(WelcomeRow.repository_id == repository_id).values(way=way.value))


async def show_in(database: Database, repository_id: int, run_id: str, overview: RepositoryOverview) -> bool:
    """Let the check of a run show it, unless that of another run does; whether this run's does."""
    mine = (WelcomeRow.repository_id == repository_id, WelcomeRow.way == WelcomeWay.check.value)
    shown = {"run_id": run_id, "overview": overview.model_dump(mode="json")}
    async with database.transaction() as session:
        await session.execute(update(WelcomeRow).where(*mine, WelcomeRow.run_id.is_(None)).values(**shown))
        return await session.scalar(select(WelcomeRow.run_id).where(*mine)) == run_id


async def forget(database: Database, repository_ids: Sequence[int]) -> None:
    """Delete what was said of repositories that Forge lost, and keep that it was said."""
    lost = WelcomeRow.repository_id.in_(repository_ids)
    await database.execute(update(WelcomeRow).where(lost).values(overview=None))


def _to_values(repository: RepositoryRef, way: WelcomeWay, cause: str, now: datetime) -> dict[str, object]:
    return {
        "repository_id": repository.id,
        "installation_id": repository.installation_id,
        "way": way.value,
        "cause": cause,
        "at": now,
        "run_id": None,
        "overview": None,
    }
