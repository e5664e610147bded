"""Keeps what models answered in a run, by what they were asked, so that no answer is paid for twice (invariant 3)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import bindparam, delete, literal, select

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


_RESULTS, _ERRORS = "results", "errors"


@dataclass(frozen=True)
class Acted:
    """An answer that was acted on, and what each tool it used answered: a text, and whether that is an error."""

    value: dict[str, Any]
    results: Sequence[tuple[str, bool]]


async def acted(
    database: Database,
    run: Run,
    phase: Phase,
    question: str,
    tools: Sequence[str],
    results: Sequence[tuple[str, bool]],
    now: datetime,
) -> None:
    """Keep with an answer what came of it; a repeated call changes nothing but the ledger.

    :param tools: the name of each that was used, in order.
    :param results: of each: what it answered, and whether that is an error.
    """
    async with database.transaction() as session:
        row = await session.get(AnswerRow, (run.id, question))
        if row is None:
            return
        row.value = {**row.value, _RESULTS: [text for text, _ in results], _ERRORS: [wrong for _, wrong in results]}
        for tool, (_, is_error) in zip(tools, results, strict=True):
            payload = {"problem": "the call was refused" if is_error else None}
            ledger.tell(session, run.id, EventType.tool_executed, now, source=tool, phase=phase, payload=payload)


async def acted_on(database: Database, run: Run) -> dict[str, Acted]:
    """The answers of a run of which it is known what came of them, by their questions."""
    kept = await database.at_once(lambda connection: of_run(connection, run.id))
    return {each.question: _acted(each.value) for each in kept if _ERRORS in each.value}


def _acted(value: dict[str, Any]) -> Acted:
    return Acted(value, list(zip(value[_RESULTS], value[_ERRORS], strict=True)))


async def find(database: Database, run: Run, question: str) -> dict[str, Any] | None:
    """The answer to a question that was asked in this run before."""
    async with database.transaction() as session:
        row = await session.get(AnswerRow, (run.id, question))
        return None if row is None else row.value


_OF_RUN = select(AnswerRow.question, AnswerRow.time, literal("").label("what"), AnswerRow.value).where(
    AnswerRow.run_id == bindparam("run")
)
SINCE = _OF_RUN.where(AnswerRow.time > bindparam("after"))
"""What models answered in a ``run`` ``after`` a moment, in no order; :func:`kept` understands the rows."""


def of_run(connection: Connection, run_id: str) -> Sequence[Kept]:
    """Every answer of a run in order."""
    return kept(connection.execute(_OF_RUN, {"run": run_id}))


def kept(rows: Iterable[Sequence[Any]]) -> Sequence[Kept]:
    """Answers in order, by the rows of :data:`SINCE`."""
    found = (Kept(question, value, at) for question, at, _, value in rows)
    return sorted(found, key=lambda each: (each.at, each.question))


async def purge(database: Database, repository_ids: Sequence[int]) -> None:
    """Remove the answers of all runs in these repositories."""
    of_runs = select(RunRow.id).where(RunRow.repository_id.in_(repository_ids))
    async with database.transaction() as session:
        await session.execute(delete(AnswerRow).where(AnswerRow.run_id.in_(of_runs)))
