"""Keeps the operator's halt of every process, and resumes the work afterwards."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import delete, select

from domain.errors import HALTED, Halted
from domain.events import EventType
from memory.db.engine import Database, insert_new
from memory.db.tables.repositories import EVERYWHERE, PauseRow
from memory.db.tables.runs import WaitRow
from memory.ledger import ledger
from memory.runs import waits

OPERATOR = "operator"  # the trace of the operator's actions, which belong to no run


@dataclass(frozen=True)
class Halt:
    """The operator's halt.

    :param why: plain text of a person, perhaps empty.
    """

    why: str
    since: datetime


async def get_current(database: Database) -> Halt | None:
    """The current halt, if there is one."""
    row = await database.get(PauseRow, EVERYWHERE)
    return None if row is None else Halt(row.why, row.since)


async def require_none(database: Database) -> None:
    """Call this before every model call and every write to GitHub.

    :raises Halted: if the operator halted Forge.
    """
    if await get_current(database) is not None:
        raise Halted


async def halt(database: Database, why: str, by: str, now: datetime) -> bool:
    """Halt every process; returns whether Forge was not halted before.

    :param by: the account on the operator's machine, perhaps empty.
    """
    values = {"repository_id": EVERYWHERE, "by_login": by, "why": why, "since": now}
    async with database.transaction() as session:
        taken = insert_new(database.dialect, PauseRow, values).returning(PauseRow.since)
        if (await session.execute(taken)).first() is None:
            return False
        ledger.record(session, OPERATOR, EventType.halted, now, source=OPERATOR, payload={"why": why, "by": by})
        return True


async def resume(database: Database, by: str, now: datetime) -> Halt | None:
    """End the halt and resume the work that waits for this; returns the halt, if there was one."""
    async with database.transaction() as session:
        row = (
            await session.scalars(delete(PauseRow).where(PauseRow.repository_id == EVERYWHERE).returning(PauseRow))
        ).first()
        if row is None:
            return None
        seconds = max(0.0, (now - row.since).total_seconds())
        facts = {"why": row.why, "by": by}
        ledger.record(session, OPERATOR, EventType.resumed, now, source=OPERATOR, payload=facts, duration=seconds)
    await waits.end_for_reason(database, HALTED, now)
    return Halt(row.why, row.since)


async def resume_waiting(database: Database, now: datetime) -> None:
    """Resume the work that began to wait while the halt ended; writes nothing if there is none."""
    waiting = select(WaitRow.workflow_id).where(WaitRow.reason == HALTED, WaitRow.until > now).limit(1)
    async with database.transaction() as session:
        if await session.scalar(waiting) is None or await session.get(PauseRow, EVERYWHERE) is not None:
            return
    await waits.end_for_reason(database, HALTED, now)
