"""Keeps the runs of what people ask for: instructions, and questions about the code in an issue.

One instruction works at a time on a pull request, and the next ones wait in order. The run of a question is over as it
begins, and holds its cost.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Select, func, select, update

from domain.commands import Sender
from domain.events import EventType
from domain.runs.run import ReasonCode, Run, RunState, Trigger
from memory import ledger
from memory.db.engine import Database
from memory.db.tables.runs import PullRequestRow, RunRow
from memory.repositories import addresses
from memory.runs import model_answers
from memory.runs.runs import Candidate, build_row, lock_fence, make_lane

_FINAL = [state.value for state in RunState if state.is_final]


async def admit(database: Database, candidate: Candidate, sender: Sender, now: datetime) -> Run:
    """The run of an instruction. It stops no other run, and no push stops it; a repeated call finds the same one.

    :param sender: who asked.
    """
    repository_id, number = candidate.repository.id, candidate.number
    async with database.transaction() as session:
        await lock_fence(session, database, repository_id, number)
        known = await session.scalar(select(RunRow).where(RunRow.admitted_by == candidate.admitted_by))
        if known is not None:
            return known.as_run()
        here = {"repository_id": repository_id, "number": number, "trigger": candidate.trigger.value}
        count = await session.scalar(select(func.count()).select_from(RunRow).filter_by(**here)) or 0
        row = build_row(candidate, count + 1, 1, now)
        row.lane, row.sender_id = make_lane(row.id), sender.id
        session.add(row)
        session.add(PullRequestRow(repository_id=repository_id, number=row.lane, fence=1))
        await addresses.clear_purge(session, repository_id)
        if candidate.kept is not None:
            await model_answers.keep_within(session, database.dialect, row.id, *candidate.kept, now)
        payload = {"trigger": row.trigger, "attempt": row.attempt}
        ledger.record(session, row.id, EventType.run_admitted, now, payload=payload)
        await session.flush()
        return row.as_run()


async def list_open(database: Database, repository_id: int, number: int) -> Sequence[Run]:
    """The instructions on a pull request that are not over, oldest first."""
    return [row.as_run() for row in await database.scalars(_select_open(repository_id, number))]


async def find_earlier(database: Database, run: Run) -> Run | None:
    """The instruction that a run has to wait for."""
    query = _select_open(run.repository.id, run.number).where(RunRow.id < run.id).limit(1)
    row = await database.scalar(query)
    return None if row is None else row.as_run()


async def find_next(database: Database, run: Run) -> Run | None:
    """The instruction whose turn it is, once a run is over; None where it is not, or another one works."""
    open_ = await list_open(database, run.repository.id, run.number)
    return open_[0] if open_ and open_[0].id != run.id else None


async def list_newest(database: Database, repository_id: int, number: int, most: int) -> Sequence[Run]:
    """The newest instructions on a pull request, over or not, the newest first."""
    here = {"repository_id": repository_id, "number": number, "trigger": Trigger.instruction.value}
    query = select(RunRow).filter_by(**here).order_by(RunRow.id.desc()).limit(most)
    return [row.as_run() for row in await database.scalars(query)]


async def find_newest(database: Database, repository_id: int, number: int) -> Run | None:
    """The newest instruction on a pull request, over or not."""
    return next(iter(await list_newest(database, repository_id, number, 1)), None)


async def stand_on(database: Database, run_id: str, head_sha: str) -> None:
    """Keep the head on which a run works: people may have pushed since it was admitted."""
    changed = {"head_sha": head_sha, "base_sha": head_sha}
    await database.execute(update(RunRow).where(RunRow.id == run_id).values(**changed))


def _select_open(repository_id: int, number: int) -> Select[Any]:
    return (
        select(RunRow)
        .where(
            RunRow.repository_id == repository_id,
            RunRow.number == number,
            RunRow.trigger == Trigger.instruction.value,
            RunRow.state.not_in(_FINAL),
        )
        .order_by(RunRow.id)
    )


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
        await addresses.clear_purge(session, repository_id)
        return row.as_run()
