"""Keeps when Forge checks a run next: whether it may act, or need not wait any more. One row per run."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from sqlalchemy import delete, select, update

from domain.runs.run import Run
from memory.db.engine import Database, upsert
from memory.db.tables.runs import RunRow, ScheduledCheckRow


class CheckCause(StrEnum):
    """What a check is about."""

    head = "head"  # what Forge may do automatically with the head it reviewed
    contracts = "contracts"  # the contracts that a run of an issue waits for
    tests = "tests"  # the results of tests that a run of an issue waits for


@dataclass(frozen=True)
class ScheduledCheck:
    """One check of a run.

    :param number: tells the checks of one cause apart: how many there were before, or a time in seconds.
    """

    run_id: str
    cause: CheckCause
    number: int


async def schedule(database: Database, check: ScheduledCheck, due: datetime) -> None:
    """Schedule a check of a run, in place of an earlier one."""
    values = {"run_id": check.run_id, "cause": check.cause.value, "number": check.number, "due": due}
    await database.execute(upsert(database.dialect, ScheduledCheckRow, values, {}))


async def list_due(database: Database, now: datetime) -> Sequence[ScheduledCheck]:
    """The checks that are due."""
    query = select(ScheduledCheckRow).where(ScheduledCheckRow.due <= now)
    rows = await database.scalars(query)
    return [ScheduledCheck(row.run_id, CheckCause(row.cause), row.number) for row in rows]


async def remove(database: Database, check: ScheduledCheck) -> None:
    """Remove a check that is under way or no longer needed."""
    same = {"run_id": check.run_id, "cause": check.cause.value, "number": check.number}
    await database.execute(delete(ScheduledCheckRow).filter_by(**same))


async def run_now(database: Database, run_ids: Sequence[str], now: datetime) -> None:
    """Make the later checks of these runs due now."""
    mine = (ScheduledCheckRow.run_id.in_(run_ids), ScheduledCheckRow.due > now)
    await database.execute(update(ScheduledCheckRow).where(*mine).values(due=now))


async def list_for_repository(database: Database, repository_id: int) -> Sequence[Run]:
    """The runs of a repository for which a check is scheduled."""
    query = (
        select(RunRow)
        .join(ScheduledCheckRow, ScheduledCheckRow.run_id == RunRow.id)
        .where(RunRow.repository_id == repository_id)
    )
    return [row.as_run() for row in await database.scalars(query)]
