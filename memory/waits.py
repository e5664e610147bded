"""Keeps which workflow waits until which moment; a sweep on our clock wakes them."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import delete, select, update

from memory.database import Database, upsert
from memory.tables import RunRow, WaitRow


async def add(database: Database, workflow_id: str, until: datetime, reason: str) -> None:
    """Let a workflow wait; a repeated call changes nothing."""
    values = {"workflow_id": workflow_id, "until": until, "reason": reason}
    async with database.transaction() as session:
        await session.execute(upsert(database.dialect, WaitRow, values, {}))


async def due(database: Database, now: datetime) -> Sequence[str]:
    """The workflows whose moment has come."""
    async with database.transaction() as session:
        return (await session.scalars(select(WaitRow.workflow_id).where(WaitRow.until <= now))).all()


async def is_over(database: Database, workflow_id: str, now: datetime) -> bool:
    """Whether a workflow has nothing to wait for any more."""
    async with database.transaction() as session:
        until = await session.scalar(select(WaitRow.until).where(WaitRow.workflow_id == workflow_id))
        return until is None or until <= now


async def end(database: Database, workflow_id: str, now: datetime) -> None:
    """Let a workflow that waits go on now."""
    async with database.transaction() as session:
        await session.execute(update(WaitRow).where(WaitRow.workflow_id == workflow_id).values(until=now))


async def end_of_pull_request(database: Database, repository_id: int, number: int, now: datetime) -> None:
    """Let every run of a pull request that waits go on now."""
    its_runs = select(RunRow.id).where(RunRow.repository_id == repository_id, RunRow.number == number)
    async with database.transaction() as session:
        await session.execute(update(WaitRow).where(WaitRow.workflow_id.in_(its_runs)).values(until=now))


async def until(database: Database, workflow_id: str) -> datetime | None:
    """The moment a workflow waits for; None if it does not wait."""
    async with database.transaction() as session:
        row = await session.get(WaitRow, workflow_id)
        return None if row is None else row.until


async def remove_due(database: Database, workflow_id: str, now: datetime) -> None:
    """The workflow was woken, unless it waits for a later moment by now."""
    async with database.transaction() as session:
        await session.execute(delete(WaitRow).where(WaitRow.workflow_id == workflow_id, WaitRow.until <= now))


async def remove(database: Database, workflow_id: str) -> None:
    """The workflow does not wait any more."""
    async with database.transaction() as session:
        await session.execute(delete(WaitRow).where(WaitRow.workflow_id == workflow_id))
