"""Records as events when a run enters and leaves a phase, each once; the time of a phase is computed from them."""

from datetime import datetime

from sqlalchemy import select, update
from sqlalchemy.ext.asyncio import AsyncSession

from domain.events import EventType
from domain.runs.run import Phase, Run, RunState
from memory.db.engine import Database, number_in
from memory.db.tables.ledger import EventRow
from memory.db.tables.runs import RunRow
from memory.ledger import ledger
from safety import breakers


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
        moves = ledger.parse_moves((await session.execute(ledger.SELECT_MOVES, {"run": run.id})).all())
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
