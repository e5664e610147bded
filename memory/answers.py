"""Keeps what models answered in a run, by what they were asked, so that no answer is paid for twice (invariant 3)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import bindparam, delete, select

from domain.events import EventType
from domain.runs import Phase, Run
from memory import ledger
from memory.database import Connection, Database, upsert
from memory.tables import AnswerRow, RunRow


@dataclass(frozen=True)
class Kept:
    """One answer, as JSON, the digest of its question, and when it came."""

    question: str
    value: dict[str, Any]
    at: datetime


async def keep(database: Database, run: Run, question: str, value: dict[str, Any], now: datetime) -> None:
    """Keep an answer; a later one to the same question takes its place."""
    values = {"run_id": run.id, "question": question, "value": value, "time": now}
    async with database.transaction() as session:
        await session.execute(upsert(database.dialect, AnswerRow, values, {}))


async def acted(
    database: Database,
    run: Run,
    phase: Phase,
    question: str,
    results: Sequence[str],
    tools: Sequence[tuple[str, bool]],
    now: datetime,
) -> None:
    """Keep with an answer what came of it; a repeated call changes nothing but the ledger.

    :param results: what the tools answered, in order.
    :param tools: name of each, and whether it answered with an error.
    """
    async with database.transaction() as session:
        row = await session.get(AnswerRow, (run.id, question))
        if row is None:
            return
        row.value = {**row.value, "results": [*results]}
        for tool, is_error in tools:
            payload = {"problem": "the call was refused" if is_error else None}
            ledger.tell(session, run.id, EventType.tool_executed, now, source=tool, phase=phase, payload=payload)


async def find(database: Database, run: Run, question: str) -> dict[str, Any] | None:
    """The answer to a question that was asked in this run before."""
    async with database.transaction() as session:
        row = await session.get(AnswerRow, (run.id, question))
        return None if row is None else row.value


_OF_RUN = select(AnswerRow.question, AnswerRow.value, AnswerRow.time).where(AnswerRow.run_id == bindparam("run"))
SINCE = _OF_RUN.where(AnswerRow.time > bindparam("after"))
"""What models answered in a ``run`` ``after`` a moment, in no order; :func:`kept` understands the rows."""


def of_run(connection: Connection, run_id: str) -> Sequence[Kept]:
    """Every answer of a run in order."""
    return kept(connection.execute(_OF_RUN, {"run": run_id}).tuples())


def kept(rows: Iterable[tuple[str, dict[str, Any], datetime]]) -> Sequence[Kept]:
    """Answers in order, by their questions, values and times."""
    return sorted((Kept(*row) for row in rows), key=lambda each: (each.at, each.question))


async def purge(database: Database, repository_ids: Sequence[int]) -> None:
    """Remove the answers of all runs in these repositories."""
    of_runs = select(RunRow.id).where(RunRow.repository_id.in_(repository_ids))
    async with database.transaction() as session:
        await session.execute(delete(AnswerRow).where(AnswerRow.run_id.in_(of_runs)))
