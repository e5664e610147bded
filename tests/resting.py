"""Tells what has neither come to its end nor waits for a moment on the clock."""

from datetime import datetime

from sqlalchemy import select, text

from memory.database import Database
from memory.tables import DeliveryRow, RunRow, WaitRow

_WORKFLOWS = {
    "sqlite": "SELECT workflow_uuid FROM workflow_status WHERE status IN ('PENDING', 'ENQUEUED')",
    "postgresql": "SELECT workflow_uuid FROM dbos.workflow_status WHERE status IN ('PENDING', 'ENQUEUED')",
}


async def still_open(database: Database, now: datetime) -> list[tuple[str, str]]:
    """(kind, id) of deliveries without an outcome, runs that are not final, and workflows that are not done."""
    async with database.transaction() as session:
        waiting = set(await session.scalars(select(WaitRow.workflow_id).where(WaitRow.until > now)))
        deliveries = await session.scalars(
            select(DeliveryRow.guid).where(DeliveryRow.finished_at.is_(None), DeliveryRow.outcome == "accepted")
        )
        runs = await session.scalars(select(RunRow.id).where(RunRow.state.in_(["pending", "running"])))
        workflows = await session.scalars(text(_WORKFLOWS[database.dialect]))
        found = [
            *(("delivery", each) for each in deliveries),
            *(("run", each) for each in runs),
            *(("workflow", each) for each in workflows),
        ]
    return [each for each in found if each[1] not in waiting]
