"""Keeps what a question about the code in an issue belongs to: a run that is over as it begins, and holds its cost."""

from datetime import datetime

from sqlalchemy import func, select

from domain.runs.run import ReasonCode, Run, RunState
from memory.db.engine import Database
from memory.db.tables.runs import RunRow
from memory.repositories import purges
from memory.runs.runs import Candidate, build_row, lock_fence


async def admit_question(database: Database, candidate: Candidate, now: datetime) -> Run:
    """The run of a question. It stops no other run and is stopped by none; a repeated call finds the same one."""
    repository_id, number = candidate.repository.id, candidate.number
    async with database.transaction() as session:
        fence = await lock_fence(session, database, repository_id, number)
        known = await session.scalar(select(RunRow).where(RunRow.admitted_by == candidate.admitted_by))
        if known is not None:
            return known.as_run()
        same = {"repository_id": repository_id, "number": number, "trigger": candidate.trigger.value}
        count = await session.scalar(select(func.count()).select_from(RunRow).filter_by(**same)) or 0
        row = build_row(candidate, count + 1, fence, now)
        row.state, row.reason = RunState.completed.value, ReasonCode.answered.value
        row.started_at = row.finished_at = now
        session.add(row)
        await purges.clear(session, repository_id)
        return row.as_run()
