"""Resumes a run that failed or was stopped: the same run with its checkpoints, under a new fencing token."""

from datetime import datetime

from sqlalchemy import select, update

from domain.events import EventType
from domain.gates import GateState
from domain.runs.run import ReasonCode, Run, RunState, Trigger
from memory.db.engine import Database, upsert
from memory.db.tables.findings import GateRow
from memory.db.tables.runs import PullRequestRow, RunRow
from memory.ledger import ledger

_ENDED = {RunState.failed.value, RunState.cancelled.value}


async def resume(
    database: Database, run: Run, cause: str, now: datetime, *, also_completed: bool = False
) -> Run | None:
    """Let a run that failed or was stopped wait to be queued; None if it is not the newest of its issue, or not over.

    Approved gates stay approved. Any other gate is asked again when the run comes to it.

    :param cause: the delivery that asks for it; a repeated call changes nothing.
    :param also_completed: also resume a completed run, because there is more to do.
    """
    async with database.transaction() as session:
        key = {"repository_id": run.repository.id, "number": run.number}
        held = upsert(database.dialect, PullRequestRow, {**key, "fence": 0}, {"fence": PullRequestRow.fence})
        fence = (await session.execute(held.returning(PullRequestRow.fence))).scalar_one()
        newest = (
            select(RunRow)
            .filter_by(**key)
            .where(RunRow.trigger != Trigger.deployment.value)
            .order_by(RunRow.id.desc())
            .limit(1)
        )
        row = (await session.scalars(newest)).one()
        if row.id == run.id and row.resumed_by == cause and row.state == RunState.waiting.value:
            return row.as_run()
        ended = {*_ENDED, RunState.completed.value} if also_completed else _ENDED
        if row.id != run.id or row.state not in ended:
            return None
        await session.execute(update(PullRequestRow).filter_by(**key).values(fence=fence + 1))
        row.fence, row.state, row.finished_at = fence + 1, RunState.waiting.value, None
        row.reason, row.detail = ReasonCode.none.value, f"taken up again by {cause}"
        row.ended_by, row.resumed_by = None, cause
        for gate in await session.scalars(select(GateRow).where(GateRow.run_id == run.id)):
            if gate.state != GateState.approved.value:  # the answer stays in the ledger
                gate.state, gate.subject = GateState.void.value, f"{gate.subject} until {fence}"
        ledger.record(session, run.id, EventType.run_resumed, now, payload={"cause": cause})
        return row.as_run()
