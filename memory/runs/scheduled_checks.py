"""Keeps when Forge looks next whether it may act on a head that it reviewed; one row per run, among the waits."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import delete, func, select, update

from domain.runs.run import Run
from memory.db.engine import Database, upsert
from memory.db.tables.runs import RunRow, WaitRow

MARK = "/look"  # ends the key of such a row; what waits otherwise is named by its workflow
_REASON = "look "


async def schedule(database: Database, run_id: str, count: int, at: datetime) -> None:
    """Look again at a moment.

    :param count: how many looks there were before.
    """
    values = {"workflow_id": f"{run_id}{MARK}", "until": at, "reason": f"{_REASON}{count}"}
    async with database.transaction() as session:
        await session.execute(upsert(database.dialect, WaitRow, values, {}))


async def list_due(database: Database, now: datetime) -> Sequence[tuple[str, int]]:
    """(run id, count of looks) of those whose moment has come."""
    query = select(WaitRow.workflow_id, WaitRow.reason).where(
        WaitRow.workflow_id.endswith(MARK, autoescape=True), WaitRow.until <= now
    )
    async with database.transaction() as session:
        found = await session.execute(query)
        return [(key.removesuffix(MARK), int(reason.removeprefix(_REASON))) for key, reason in found]


async def remove(database: Database, run_id: str, count: int) -> None:
    """The look is under way, or there is nothing to look at any more."""
    mine = (WaitRow.workflow_id == f"{run_id}{MARK}", WaitRow.reason == f"{_REASON}{count}")
    async with database.transaction() as session:
        await session.execute(delete(WaitRow).where(*mine))


async def run_now(database: Database, run_ids: Sequence[str], now: datetime) -> None:
    """Look now at what would be looked at later."""
    keys = [f"{run_id}{MARK}" for run_id in run_ids]
    async with database.transaction() as session:
        await session.execute(
            update(WaitRow).where(WaitRow.workflow_id.in_(keys), WaitRow.until > now).values(until=now)
        )


async def list_for_repository(database: Database, repository_id: int) -> Sequence[Run]:
    """The runs of a repository whose heads are going to be looked at."""
    query = (
        select(RunRow)
        .join(WaitRow, func.substr(WaitRow.workflow_id, 1, 26) == RunRow.id)
        .where(RunRow.repository_id == repository_id, WaitRow.workflow_id.endswith(MARK, autoescape=True))
    )
    async with database.transaction() as session:
        return [row.as_run() for row in await session.scalars(query)]
