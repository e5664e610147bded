"""Tells what has neither come to its end nor waits for a moment on the clock."""

from datetime import datetime, timedelta

from sqlalchemy import or_, select, text

from domain.gates import GateState
from memory.database import Database
from memory.tables import DeliveryRow, GateRow, RunRow, WaitRow

_WORKFLOWS = {
    "sqlite": "SELECT workflow_uuid FROM workflow_status WHERE status IN ('PENDING', 'ENQUEUED')",
    "postgresql": "SELECT workflow_uuid FROM dbos.workflow_status WHERE status IN ('PENDING', 'ENQUEUED')",
}


_QUEUED = {
    "sqlite": "SELECT workflow_uuid FROM workflow_status WHERE workflow_uuid LIKE '%/%'",
    "postgresql": "SELECT workflow_uuid FROM dbos.workflow_status WHERE workflow_uuid LIKE '%/%'",
}
"""Runs that went on after an answer."""

_SOON = timedelta(seconds=5)


async def still_open(database: Database, now: datetime) -> list[tuple[str, str]]:
    """(kind, id) of what is on its way.

    Deliveries without an outcome, runs that are not final and wait for nobody, workflows that are not done, and gates
    that are answered, or whose time is over, without their run having been told. Who waits for a moment that comes
    by itself while one looks on is on its way, too.
    """
    async with database.transaction() as session:
        # What comes later is read later: nothing slips through on its way from one to the next.
        told = set(await session.scalars(text(_QUEUED[database.dialect])))
        gates = (
            await session.execute(
                select(GateRow.id, GateRow.run_id)
                .join(RunRow, RunRow.id == GateRow.run_id)
                .where(
                    RunRow.state == "waiting",
                    RunRow.reason == "gate",
                    or_(
                        GateRow.state.in_([GateState.approved, GateState.rejected, GateState.expired]),
                        (GateRow.state == GateState.waiting) & (GateRow.until <= now),
                    ),
                )
            )
        ).all()
        deliveries = await session.scalars(
            select(DeliveryRow.guid).where(DeliveryRow.finished_at.is_(None), DeliveryRow.outcome == "accepted")
        )
        runs = await session.scalars(select(RunRow.id).where(RunRow.state.in_(["pending", "running"])))
        workflows = await session.scalars(text(_WORKFLOWS[database.dialect]))
        waiting = set(await session.scalars(select(WaitRow.workflow_id).where(WaitRow.until > now + _SOON)))
        found = [
            *(("gate", gate) for gate, run in gates if f"{run}/{gate}" not in told),
            *(("delivery", each) for each in deliveries),
            *(("run", each) for each in runs),
            *(("workflow", each) for each in workflows),
        ]
    return [each for each in found if each[1] not in waiting]
