"""Keeps where a repository is: its present address, or that Forge lost it and no process may keep a copy."""

from collections.abc import Collection, Sequence
from datetime import datetime

from sqlalchemy import ColumnElement, func, or_, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from domain.runs.run import RepositoryRef
from memory.db.engine import Database
from memory.db.tables.repositories import GateRow, RepositoryRow, hold
from memory.db.tables.runs import RunRow


async def update_address(database: Database, repository: RepositoryRef) -> int:
    """Store the present name, owner and installation of a repository in its runs and gates; returns how many changed.

    A run may use this address months later, and another repository may have the old one by then.
    """
    at, owner, name = repository.installation_id, repository.owner, repository.name
    runs_there = or_(RunRow.owner != owner, RunRow.name != name, RunRow.installation_id != at)
    gates_there = or_(GateRow.owner != owner, GateRow.repository_name != name, GateRow.installation_id != at)
    of_runs = update(RunRow).where(RunRow.repository_id == repository.id, runs_there)
    of_gates = update(GateRow).where(GateRow.repository_id == repository.id, gates_there)
    async with database.transaction() as session:
        moved = await session.execute(of_runs.values(owner=owner, name=name, installation_id=at).returning(RunRow.id))
        values = {"owner": owner, "repository_name": name, "installation_id": at}
        asked = await session.execute(of_gates.values(**values).returning(GateRow.id))
        return len(moved.all()) + len(asked.all())


async def find_address(database: Database, repository_id: int) -> RepositoryRef | None:
    """The address of a repository at its newest run; None if nothing ever ran there."""
    async with database.transaction() as session:
        return await find_address_within(session, repository_id)


async def find_address_within(session: AsyncSession, repository_id: int) -> RepositoryRef | None:
    """As :func:`find_address`, in the caller's transaction."""
    return await _find_newest(session, RunRow.repository_id == repository_id)


async def find_by_name(database: Database, full_name: str) -> RepositoryRef | None:
    """The repository that had this name at the newest run; upper and lower case are the same, as on GitHub."""
    async with database.transaction() as session:
        return await _find_newest(session, func.lower(RunRow.owner + "/" + RunRow.name) == full_name.lower())


async def _find_newest(session: AsyncSession, is_there: ColumnElement[bool]) -> RepositoryRef | None:
    row = await session.scalar(select(RunRow).where(is_there).order_by(RunRow.id.desc()).limit(1))
    return None if row is None else row.as_run().repository


async def note_purged(database: Database, repository_ids: Collection[int], now: datetime) -> None:
    """Record that repositories were lost, until a run begins there again."""
    async with database.transaction() as session:
        for each in sorted(repository_ids):
            (await hold(session, database.dialect, each)).lost_at = now


async def list_purged(database: Database) -> Sequence[int]:
    """The repositories of which no process may keep a copy."""
    row = RepositoryRow
    return await database.scalars(select(row.repository_id).where(row.lost_at.is_not(None)).order_by(row.repository_id))


async def clear_purge(session: AsyncSession, repository_id: int) -> None:
    """Delete the record: a run begins there, so Forge has access again."""
    lost = RepositoryRow.repository_id == repository_id, RepositoryRow.lost_at.is_not(None)
    await session.execute(update(RepositoryRow).where(*lost).values(lost_at=None))
