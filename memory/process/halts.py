"""Keeps the operator's halt of every process, and resumes the work afterwards."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select

from domain.errors import HALTED, Halted
from domain.events import EventType
from memory import ledger
from memory.db.engine import Database
from memory.db.tables.repositories import EVERYWHERE, RepositoryRow, hold
from memory.db.tables.runs import WaitRow
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
    return _parse(await database.get(RepositoryRow, EVERYWHERE))


def _parse(row: RepositoryRow | None) -> Halt | None:
    return None if row is None or row.paused_since is None else Halt(row.paused_why or "", row.paused_since)


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
    async with database.transaction() as session:
        row = await hold(session, database.dialect, EVERYWHERE)
        if row.paused_since is not None:
            return False
        row.paused_since, row.paused_by, row.paused_why = now, by, why
        ledger.record(session, OPERATOR, EventType.halted, now, source=OPERATOR, payload={"why": why, "by": by})
        return True


async def resume(database: Database, by: str, now: datetime) -> Halt | None:
    """End the halt and resume the work that waits for this; returns the halt, if there was one."""
    async with database.transaction() as session:
        row = await hold(session, database.dialect, EVERYWHERE)
        ended = _parse(row)
        if ended is None:
            return None
        row.end_pause()
        seconds = max(0.0, (now - ended.since).total_seconds())
        facts = {"why": ended.why, "by": by}
        ledger.record(session, OPERATOR, EventType.resumed, now, source=OPERATOR, payload=facts, duration=seconds)
    await waits.end_for_reason(database, HALTED, now)
    return ended


async def resume_waiting(database: Database, now: datetime) -> None:
    """Resume the work that began to wait while the halt ended; writes nothing if there is none."""
    waiting = select(WaitRow.workflow_id).where(WaitRow.reason == HALTED, WaitRow.until > now).limit(1)
    async with database.transaction() as session:
        if await session.scalar(waiting) is None or _parse(await session.get(RepositoryRow, EVERYWHERE)) is not None:
            return
    await waits.end_for_reason(database, HALTED, now)
