"""Records when a run enters and leaves a phase, and resumes one that failed or was stopped."""

from datetime import datetime

from sqlalchemy import select, update
from sqlalchemy.ext.asyncio import AsyncSession

from domain.events import EventType
from domain.gates import GateState
from domain.runs.run import Phase, ReasonCode, Run, RunState, Trigger
from memory import ledger
from memory.db.engine import Database, number_in, upsert
from memory.db.tables.repositories import GateRow
from memory.db.tables.runs import EventRow, PullRequestRow, RunRow
from safety import breakers

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


async def enter(database: Database, run: Run, phase: Phase, turn: int, now: datetime) -> None:
    """Record that a run enters a phase, if it works; a repeated call changes nothing.

    :param turn: how often it has entered the phase, from 1: a run that is sent back enters again, and its time adds up.
    """
    async with database.transaction() as session:
        if (
            await _is_working(session, run)
            and await _find_event_time(session, run, EventType.phase_entered, phase, turn) is None
        ):
            ledger.record(session, run.id, EventType.phase_entered, now, phase=phase, payload={"turn": turn})


async def leave(database: Database, run: Run, phase: Phase, turn: int, now: datetime) -> None:
    """Record that a run leaves a phase it entered, if it works; a repeated call changes nothing.

    The event's duration is the time that the run worked in the phase since then.
    """
    async with database.transaction() as session:
        if not await _is_working(session, run):
            return
        entered = await _find_event_time(session, run, EventType.phase_entered, phase, turn)
        if entered is None or await _find_event_time(session, run, EventType.phase_completed, phase, turn) is not None:
            return
        moves = ledger.parse_moves(await session.execute(ledger.select_moves(run.id)))
        before = breakers.measure_work([move for move in moves if move.at <= entered], entered, phase)
        took = (breakers.measure_work(moves, now, phase) - before).total_seconds()
        payload = {"turn": turn}
        ledger.record(session, run.id, EventType.phase_completed, now, phase=phase, payload=payload, duration=took)


async def is_left(database: Database, run: Run, phase: Phase, turn: int) -> bool:
    """Whether a run has left a phase."""
    async with database.transaction() as session:
        return await _find_event_time(session, run, EventType.phase_completed, phase, turn) is not None


async def _is_working(session: AsyncSession, run: Run) -> bool:
    """Whether a run works; its state is locked until the end of the transaction."""
    held = update(RunRow).where(RunRow.id == run.id).values(state=RunRow.state).returning(RunRow.state)
    return await session.scalar(held) == RunState.running.value


async def _find_event_time(
    session: AsyncSession, run: Run, kind: EventType, phase: Phase, turn: int
) -> datetime | None:
    """When the event of this turn was recorded; None if it was not."""
    return await session.scalar(
        select(EventRow.time).where(
            EventRow.trace == run.id,
            EventRow.type == kind.value,
            EventRow.phase == phase.value,
            number_in(EventRow.payload["turn"]) == turn,
        )
    )
