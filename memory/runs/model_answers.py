"""Keeps the model answers of a run by the digest of their question, so that no answer is paid for twice."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from typing import Any

from sqlalchemy import func, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from domain.events import EventType
from domain.runs.patches import ChangeSet
from domain.runs.run import Phase, Run
from memory import ledger
from memory.db.engine import Connection, Database, upsert
from memory.db.tables.runs import AnswerRow, RunRow
from messages.changes import AgentTurn
from safety import guards
from safety.guards import Iteration, LoopStep

ISSUE = "what was asked for"
"""The key of the issue's text as the run began with it: an edit while the run waits for its turn changes nothing."""

EFFORT = "how thoroughly it is read"
"""The key of the effort that a person asked for."""

TASK = "what the planner is told"
"""The key of the planner's task, with who wrote what is in it: later edits and deletions change nothing."""

KEPT_PLAN = "which plan it goes on with"
"""The key of what became of the plan that people saw before."""

QUESTION = "what people are asked"
"""The key of the question with which an instruction ended."""

INSTRUCTION = "what somebody asks for on a pull request"

GONE = "what is gone at its head"
"""The key of the findings that an instruction found to be gone: fingerprint → name."""


@dataclass(frozen=True)
class ModelTurn:
    """What guards see of one answer, with the digest of its question and its time.

    :param key: key of the step that asked.
    """

    question: str
    key: str
    step: LoopStep
    at: datetime


async def keep(database: Database, run: Run, question: str, value: dict[str, Any], now: datetime) -> None:
    """Store an answer; a later one to the same question replaces it."""
    seen = await asyncio.to_thread(_extract_turn, question, value)
    async with database.transaction() as session:
        await _keep(session, database.dialect, run.id, question, value, seen, now)


async def keep_within(
    session: AsyncSession, dialect: str, run_id: str, question: str, value: dict[str, Any], now: datetime
) -> None:
    """The same as :func:`keep`, within a transaction."""
    await _keep(session, dialect, run_id, question, value, _extract_turn(question, value), now)


async def _keep(
    session: AsyncSession, dialect: str, run_id: str, question: str, value: dict[str, Any], seen: Any, now: datetime
) -> None:
    values = {"run_id": run_id, "question": question, "value": value, "turn": seen, "time": now}
    await session.execute(upsert(dialect, AnswerRow, values, {}))


async def note_iteration(
    database: Database, run: Run, phase: Phase, question: str, key: str, tokens: int, seconds: float, now: datetime
) -> None:
    """Record that a model answered a question of a run; a repeated call changes nothing.

    :param key: key of the step that asked.
    """
    payload, more = {"step": key, "question": question}, {"source": "agent", "tokens": tokens, "duration": seconds}
    async with database.transaction() as session:
        await ledger.record_once(
            session, run.id, EventType.agent_iterated, now, key="question", payload=payload, phase=phase, **more
        )


_KEY, _STEP, _RESULTS, _ERRORS, _WRONG, _CHANGES = "key", "step", "results", "errors", "wrong", "changes"
_FIELDS = {field.name for field in fields(LoopStep)}


@dataclass(frozen=True)
class RecordedToolUse:
    """The result of one use of a tool.

    :param reason: why it failed, the same for all uses that failed for this reason; empty: ``text`` says why.
    :param seconds: its duration.
    :param is_skipped: it was not called, because of another one: no mistake of its own.
    :param change: what it did to the files, where its arguments do not say so.
    """

    tool: str
    text: str
    is_error: bool = False
    reason: str = ""
    seconds: float | None = None
    is_skipped: bool = False
    change: ChangeSet | None = None

    @property
    def wrong(self) -> str:
        """The kind of error on one line; empty: none."""
        is_wrong = self.is_error and not self.is_skipped
        return " ".join(f"{self.tool}: {self.reason or self.text}".split()) if is_wrong else ""


@dataclass(frozen=True)
class AnswerOutcome:
    """An answer that was acted on, and the results of the tools it used: a text, and whether it is an error.

    :param changes: what a use did to the files, by its position, where its arguments do not say so.
    """

    value: dict[str, Any]
    results: Sequence[tuple[str, bool]]
    changes: Mapping[int, ChangeSet]


async def record_outcome(
    database: Database,
    run: Run,
    phase: Phase,
    question: str,
    used: Sequence[RecordedToolUse],
    now: datetime,
) -> None:
    """Store the outcome of an answer; a repeated call changes only the ledger.

    :param used: its uses of tools, in order.
    """
    answered = await find(database, run, question)
    if answered is None:
        return
    value = {
        **answered,
        _RESULTS: [each.text for each in used],
        _ERRORS: [each.is_error for each in used],
        _WRONG: [each.wrong for each in used if each.wrong],
    }
    changes = {str(at): each.change.model_dump(mode="json") for at, each in enumerate(used) if each.change is not None}
    if changes:
        value[_CHANGES] = changes
    seen = await asyncio.to_thread(_extract_turn, question, value)
    mine = (AnswerRow.run_id == run.id) & (AnswerRow.question == question)
    async with database.transaction() as session:
        await session.execute(update(AnswerRow).where(mine).values(value=value, turn=seen))
        for each in used:
            payload = {"problem": "the call was refused" if each.wrong else None}
            ledger.record(
                session,
                run.id,
                EventType.tool_executed,
                now,
                source=each.tool,
                phase=phase,
                payload=payload,
                duration=each.seconds,
            )


async def load_outcomes(database: Database, run: Run) -> dict[str, AnswerOutcome]:
    """The answers of a run with a known outcome, by question."""
    kept = select(AnswerRow.question, AnswerRow.value).where(AnswerRow.run_id == run.id)
    rows = await database.rows(kept)
    return {question: _parse_outcome(value) for question, value in rows if _ERRORS in value}


def _parse_outcome(value: dict[str, Any]) -> AnswerOutcome:
    changes = {int(at): ChangeSet.model_validate(each) for at, each in value.get(_CHANGES, {}).items()}
    return AnswerOutcome(value, list(zip(value[_RESULTS], value[_ERRORS], strict=True)), changes)


async def find(database: Database, run: Run, question: str) -> dict[str, Any] | None:
    """The answer to a question that was asked in this run before."""
    row = await database.get(AnswerRow, (run.id, question))
    return None if row is None else row.value


async def find_all(database: Database, run_ids: Collection[str], question: str) -> Mapping[str, dict[str, Any]]:
    """The answers to the same question in several runs, by the id of the run."""
    query = select(AnswerRow).where(AnswerRow.run_id.in_(run_ids), AnswerRow.question == question)
    return {row.run_id: row.value for row in await database.scalars(query)}


async def find_shared(database: Database, repository_id: int, question: str) -> dict[str, Any] | None:
    """The newest answer to a question that was asked in any run of a repository, as long as answers are kept."""
    newest = (
        select(AnswerRow.value)
        .join(RunRow, RunRow.id == AnswerRow.run_id)
        .where(RunRow.repository_id == repository_id, AnswerRow.question == question)
        .order_by(AnswerRow.time.desc())
        .limit(1)
    )
    return await database.scalar(newest)


def load_turns(connection: Connection, run_id: str) -> Sequence[ModelTurn]:
    """What guards see of every turn of a run, in order."""
    query = select(AnswerRow.question, AnswerRow.time, AnswerRow.turn)
    rows = connection.execute(query.where(AnswerRow.run_id == run_id, AnswerRow.turn.is_not(None)))
    in_order = sorted(rows, key=lambda row: (row.time, row.question))
    return [ModelTurn(row.question, row.turn[_KEY], _parse_step(row.turn[_STEP]), row.time) for row in in_order]


def _parse_step(kept: dict[str, Any]) -> LoopStep:
    """A step as another version may have kept it, with more fields or fewer."""
    return LoopStep(**{name: kept[name] for name in _FIELDS & kept.keys()})


def to_iteration(question: str, value: dict[str, Any]) -> Iteration:
    """An answer as one turn; its action is the question, or the tools that an agent used."""
    problem = str(value.get("problem") or "")
    if "uses" not in value:
        return Iteration(action=question, output=str(value.get("value") or ""), error=problem)
    used = (f"{use['tool']} {use['arguments']}" for use in value["uses"])
    wrong: Sequence[str] = value.get(_WRONG, ())
    results: Sequence[str] = value.get(_RESULTS, ())
    return Iteration(value["text"], "\n".join(used), "\n".join(results), problem or "\n".join(wrong))


def _extract_turn(question: str, value: dict[str, Any]) -> dict[str, Any] | None:
    """What is stored of a turn beside its answer; None if it is not a model's answer to a step."""
    if _KEY not in value:
        return None
    return {_KEY: value[_KEY], _STEP: asdict(guards.to_step(to_iteration(question, value)))}


async def load_newest(database: Database, run_id: str, most: int) -> tuple[Sequence[AgentTurn], int]:
    """The newest turns of a run in order, and how many there are in all.

    :param most: turns at most.
    """
    asked = AnswerRow.value["key"].as_string().is_not(None)  # only answers of a model
    of_run = select(AnswerRow.value, AnswerRow.time).where(AnswerRow.run_id == run_id, asked)
    async with database.transaction() as session:
        count = await session.scalar(select(func.count()).select_from(of_run.subquery()))
        newest = of_run.order_by(AnswerRow.time.desc(), AnswerRow.question.desc()).limit(most)
        rows = (await session.execute(newest)).all()
    return [parse_history_entry(value, at) for value, at in reversed(rows)], count or 0


def parse_history_entry(value: dict[str, Any], at: datetime) -> AgentTurn:
    """A model's answer as one turn of a history."""
    used = [(str(use["tool"]), str(use["arguments"])) for use in value.get("uses", ())]
    said = str(value.get("text") or value.get("problem") or "")
    return AgentTurn(str(value[_KEY]), at, said, used, [str(each) for each in value.get(_WRONG, ())])
