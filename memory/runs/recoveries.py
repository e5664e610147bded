"""Keeps the attempts of agents to recover from giving up in disguise, across restarts and the runs of an issue."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, cast

from sqlalchemy import select, update

from domain.gates import Choice
from domain.runs.recovery import AgentMake, RecoveryAttempt, RecoveryOutcome, Strategy
from domain.runs.run import Run
from domain.text.redaction import PROCESS_REDACTOR
from memory.db.engine import Database, insert_new
from memory.db.tables.runs import RecoveryRow

_COLUMNS = frozenset({"id", "run_id", "work", "tried", "strategy", "said", "outcome"})
"""Of an attempt; they have columns of the same name."""


async def list_of_issue(database: Database, repository_id: int, number: int) -> Sequence[RecoveryAttempt]:
    """All attempts of an issue, in order, whichever of its runs made them."""
    query = select(RecoveryRow).where(RecoveryRow.repository_id == repository_id, RecoveryRow.number == number)
    return [_parse(row) for row in await database.scalars(query.order_by(RecoveryRow.id))]


async def add(database: Database, run: Run, attempt: RecoveryAttempt, in_vain: Sequence[str]) -> None:
    """Keep what was caught, once for each try, and the attempt that follows.

    :param in_vain: the ids of earlier attempts whose outcome this shows.
    """
    hidden = update(RecoveryRow).where(RecoveryRow.id.in_(in_vain), RecoveryRow.outcome != _ESCALATED)
    async with database.transaction() as session:
        added = await session.execute(insert_new(database.dialect, RecoveryRow, _values(run, attempt)))
        if cast(Any, added).rowcount:
            await session.execute(hidden.values(outcome=RecoveryOutcome.hidden.value))


async def keep_answer(
    database: Database,
    attempt: RecoveryAttempt,
    answer: Choice,
    strategy: Strategy | None,
    agent: AgentMake,
    now: datetime,
) -> RecoveryAttempt:
    """Keep what people answered, once, and the attempt that they let begin.

    :param strategy: of that attempt; None if they let none begin.
    """
    async with database.transaction() as session:
        row = await session.get_one(RecoveryRow, attempt.id, with_for_update=True)
        if row.details.get("answer") is None:
            row.details = {**row.details, "answer": answer.value, "agent": agent.value}
            row.strategy, row.time = None if strategy is None else strategy.value, now
        return _parse(row)


async def mark_mended(database: Database, run_id: str, work: str) -> None:
    """Keep that the last attempt at a piece of work hid nothing any more."""
    open_ = update(RecoveryRow).where(
        RecoveryRow.run_id == run_id, RecoveryRow.work == work, RecoveryRow.outcome == RecoveryOutcome.open.value
    )
    await database.execute(open_.values(outcome=RecoveryOutcome.mended.value))


_ESCALATED = RecoveryOutcome.escalated.value


def _values(run: Run, attempt: RecoveryAttempt) -> dict[str, Any]:
    told = cast(dict[str, Any], PROCESS_REDACTOR.redact_values(attempt.model_dump(mode="json")))
    columns = {name: told[name] for name in _COLUMNS}
    details = {name: value for name, value in told.items() if name not in {*_COLUMNS, "hidden", "at"}}
    where = {"repository_id": run.repository.id, "number": run.number}
    return {**columns, **where, "trouble": told["hidden"], "details": details, "time": attempt.at}


def _parse(row: RecoveryRow) -> RecoveryAttempt:
    columns = {name: getattr(row, name) for name in _COLUMNS}
    return RecoveryAttempt.model_validate({**row.details, **columns, "hidden": row.trouble, "at": row.time})
