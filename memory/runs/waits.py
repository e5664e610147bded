"""Keeps until when each workflow waits, when Forge next checks a run, and what the clock makes due next.

A sweep on our clock wakes them. A run has one such check.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from sqlalchemy import Select, delete, func, select, union_all, update

from domain.gates import GateState
from domain.runs.run import ReasonCode, Run, RunState
from memory.db.engine import Database, upsert
from memory.db.tables.deliveries import NoticedEventRow
from memory.db.tables.repositories import GateRow
from memory.db.tables.runs import RunRow, WaitRow
from memory.gates import ANSWERED

_MANY = 500  # workflows in one statement
_run_id = func.substr(WaitRow.workflow_id, 1, 26)  # the ids of a run's workflows begin with the run's id


async def add(database: Database, workflow_id: str, until: datetime, reason: str) -> None:
    """Let a workflow wait; a repeated call changes nothing."""
    values = {"workflow_id": workflow_id, "until": until, "reason": reason}
    await database.execute(upsert(database.dialect, WaitRow, values, {}))


async def list_due(database: Database, now: datetime) -> Sequence[str]:
    """The workflows whose wait is over."""
    return await database.scalars(select(WaitRow.workflow_id).where(WaitRow.until <= now))


async def is_over(database: Database, workflow_id: str, now: datetime) -> bool:
    """Whether a workflow does not wait any more."""
    until = await database.scalar(select(WaitRow.until).where(WaitRow.workflow_id == workflow_id))
    return until is None or until <= now


async def filter_waiting(database: Database, workflow_ids: Sequence[str], now: datetime) -> set[str]:
    """Those of the workflows that still wait."""
    waiting = set[str]()
    async with database.transaction() as session:
        for at in range(0, len(workflow_ids), _MANY):
            some = workflow_ids[at : at + _MANY]
            query = select(WaitRow.workflow_id).where(WaitRow.workflow_id.in_(some), WaitRow.until > now)
            waiting.update(await session.scalars(query))
    return waiting


async def end(database: Database, run_id: str, now: datetime) -> None:
    """Wake the waiting workflows of a run now."""
    await database.execute(update(WaitRow).where(_run_id == run_id).values(until=now))


async def end_for_pull_request(database: Database, repository_id: int, number: int, now: datetime) -> None:
    """Wake every waiting run of a pull request now."""
    its_runs = select(RunRow.id).where(RunRow.repository_id == repository_id, RunRow.number == number)
    await database.execute(update(WaitRow).where(_run_id.in_(its_runs)).values(until=now))


async def get_until(database: Database, run_id: str) -> datetime | None:
    """Until when a run's workflows wait; None if none does."""
    return await database.scalar(select(func.max(WaitRow.until)).where(_run_id == run_id))


async def end_for_reason(database: Database, reason: str, now: datetime) -> int:
    """Wake all workflows that wait for this reason; returns their number."""
    ended = update(WaitRow).where(WaitRow.reason == reason, WaitRow.until > now).values(until=now)
    return len(await database.scalars(ended.returning(WaitRow.workflow_id)))


async def remove_due(database: Database, workflow_id: str, now: datetime) -> None:
    """Remove the wait of a woken workflow, unless it now waits until a later time."""
    await database.execute(delete(WaitRow).where(WaitRow.workflow_id == workflow_id, WaitRow.until <= now))


async def remove(database: Database, workflow_id: str) -> None:
    """Remove the wait of a workflow."""
    await database.execute(delete(WaitRow).where(WaitRow.workflow_id == workflow_id))


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
    values = {"check_cause": check.cause.value, "check_number": check.number, "check_due": due}
    await database.execute(update(RunRow).where(RunRow.id == check.run_id).values(**values))


async def list_due_checks(database: Database, now: datetime) -> Sequence[ScheduledCheck]:
    query = select(RunRow.id, RunRow.check_cause, RunRow.check_number).where(RunRow.check_due <= now)
    rows = await database.rows(query)
    return [ScheduledCheck(run_id, CheckCause(cause), number or 0) for run_id, cause, number in rows]


async def remove_check(database: Database, check: ScheduledCheck) -> None:
    """Remove a check that is under way or no longer needed."""
    same = {"id": check.run_id, "check_cause": check.cause.value, "check_number": check.number}
    await database.execute(update(RunRow).filter_by(**same).values(check_due=None))


async def run_checks_now(database: Database, run_ids: Sequence[str], now: datetime) -> None:
    """Make the later checks of these runs due now."""
    mine = (RunRow.id.in_(run_ids), RunRow.check_due > now)
    await database.execute(update(RunRow).where(*mine).values(check_due=now))


async def list_checked_runs(database: Database, repository_id: int) -> Sequence[Run]:
    """The runs of a repository for which a check is scheduled."""
    query = select(RunRow).where(RunRow.repository_id == repository_id, RunRow.check_due.is_not(None))
    return [row.as_run() for row in await database.scalars(query)]


async def find_next(database: Database, now: datetime) -> datetime | None:
    """The next moment at which a wait or a gate ends, or a check is due.

    ``now`` if something is due already that waits for no moment: an event of which nobody was told, an answered gate
    whose run was not. None if there is nothing.
    """
    waiting = GateRow.state == GateState.waiting.value
    moments = union_all(
        select(func.min(WaitRow.until)),
        select(func.min(GateRow.until)).where(waiting),
        select(func.min(RunRow.check_due)),
    )
    untold = union_all(select(NoticedEventRow.id).limit(1).subquery().select(), _select_answered().subquery().select())
    async with database.transaction() as session:
        if (await session.scalars(untold)).first() is not None:
            return now
        found: list[datetime] = [*filter(None, await session.scalars(moments))]
    return min(found, default=None)


def _select_answered() -> Select[str]:
    """A gate that is answered, and whose run still waits for that."""
    waits = (RunRow.state == RunState.waiting.value, RunRow.reason == ReasonCode.gate.value)
    answered = select(GateRow.id).join(RunRow, RunRow.id == GateRow.run_id)
    return answered.where(*waits, GateRow.state.in_(ANSWERED)).limit(1)
