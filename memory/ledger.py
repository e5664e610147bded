"""The ledger of events: append-only, written in the transaction of the change that an event describes."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, cast

from sqlalchemy import Row, Select, func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from domain.commands import Sender
from domain.events import Event, EventType
from domain.notices import NOTICED
from domain.runs.run import Phase, RepositoryRef, Run
from domain.text.redaction import PROCESS_REDACTOR
from domain.value import new_id
from domain.verdicts import Check
from memory.db.engine import PENDING_EVENTS, Connection, Database, number_in
from memory.db.tables.deliveries import NoticedEventRow
from memory.db.tables.runs import IS_MOVE, EventRow, RunRow
from safety.breakers import RunTransition

_INSERT = insert(EventRow)
_NOTE = insert(NoticedEventRow)


def record(
    session: AsyncSession | Connection,
    trace: str,
    kind: EventType,
    now: datetime,
    *,
    source: str = "pipeline",
    phase: Phase | None = None,
    payload: dict[str, Any] | None = None,
    duration: float | None = None,
    tokens: int = 0,
    cost: float = 0.0,
) -> None:
    """Store an event in the transaction, and send it to subscribers after the commit.

    If people may want a notice of it, that is noted in the same transaction.

    :param trace: the run it belongs to.
    :param duration: seconds.
    :param cost: USD.
    """
    event = Event(
        id=new_id(),
        trace=trace,
        time=now,
        source=source,
        type=kind,
        phase=phase,
        payload=cast(dict[str, Any], PROCESS_REDACTOR.redact_values(payload or {})),
        duration=duration,
        tokens=tokens,
        cost=cost,
    )
    is_noticed = kind in NOTICED
    if isinstance(session, Connection):
        session.execute(_INSERT, event.model_dump())
        if is_noticed:
            session.execute(_NOTE, {"id": event.id})
    else:
        session.add(EventRow(**event.model_dump()))
        if is_noticed:
            session.add(NoticedEventRow(id=event.id))
    session.info.setdefault(PENDING_EVENTS, []).append(event)


async def record_once(
    session: AsyncSession, trace: str, kind: EventType, now: datetime, *, key: str, payload: dict[str, Any], **more: Any
) -> None:
    """The same as :func:`record`, unless the trace has an event of this kind that says the same under a key.

    :param key: of the payload.
    """
    if await session.scalar(select_same(trace, kind, key, payload[key])) is None:
        record(session, trace, kind, now, payload=payload, **more)


def select_same(trace: str, kind: EventType, key: str, said: str) -> Select[str]:
    """An event of a trace that says something under a key of its payload."""
    is_kind = EventRow.trace == trace, EventRow.type == kind.value
    return select(EventRow.id).where(*is_kind, EventRow.payload[key].as_string() == said).limit(1)


async def load_events(database: Database, *traces: str) -> Sequence[Event]:
    """The events of some runs, in the order in which they happened."""
    rows = await database.scalars(select(EventRow).where(EventRow.trace.in_(traces)).order_by(EventRow.id))
    return [Event.model_validate(row, from_attributes=True) for row in rows]


_MOVES: dict[str, bool] = {
    EventType.run_started: True,
    EventType.run_resumed: True,
    EventType.run_waiting: False,
    EventType.run_completed: False,
    EventType.run_failed: False,
    EventType.run_cancelled: False,
}


def load_moves(connection: Connection, trace: str) -> Sequence[RunTransition]:
    """When a run worked and when it waited, and in which phases."""
    return parse_moves(connection.execute(select_moves(trace)))


def select_moves(trace: str) -> Select[datetime, str, str | None]:
    """Where a run began to work or to wait, and its phases, in order, for :func:`parse_moves`."""
    query = select(EventRow.time, EventRow.type, EventRow.phase).where(EventRow.trace == trace, IS_MOVE)
    return query.order_by(EventRow.id)


def parse_moves(rows: Iterable[Row[datetime, str, str | None]]) -> Sequence[RunTransition]:
    """The moves in the rows of :func:`select_moves`."""
    running, phase, moves = False, None, list[RunTransition]()
    for at, kind, named in rows:
        match kind:
            case EventType.phase_entered:
                phase = Phase(named)
            case EventType.phase_completed:
                phase = None
            case _ if kind in _MOVES:
                running = _MOVES[kind]
            case _:
                continue
        moves.append(RunTransition(at, running, phase))
    return moves


async def record_person_action(
    session: AsyncSession,
    repository: RepositoryRef,
    number: int | None,
    kind: EventType,
    by: Sender,
    now: datetime,
    **facts: object,
) -> None:
    """Record what a person did in a repository, in the trace that :func:`find_trace` finds.

    :param number: number of the issue or pull request; None: it is about the whole repository.
    """
    payload = {"by": by.login, "account": by.id, "repository": repository.id, **facts}
    trace = await find_trace(session, repository, number)
    record(session, trace, kind, now, source="person", payload=payload)


async def find_trace(session: AsyncSession, repository: RepositoryRef, number: int | None) -> str:
    """The trace of what people do about an issue or pull request: its newest run, or the repository's id.

    :param number: of the issue or pull request; None: what they do is about none, and belongs into no run's story.
    """
    if number is None:
        return f"{repository.id}"
    newest = select(func.max(RunRow.id)).where(RunRow.repository_id == repository.id, RunRow.number == number)
    return await session.scalar(newest) or f"{repository.id}"


async def record_feedback(
    database: Database, trace: str, kind: EventType, payload: dict[str, Any], delivery: str, now: datetime
) -> None:
    """Record a person's feedback, once per delivery."""
    told = {**payload, "delivery": delivery}
    async with database.transaction() as session:
        await session.execute(update(RunRow).where(RunRow.id == trace).values(state=RunRow.state))  # one at a time
        await record_once(session, trace, kind, now, key="delivery", payload=told, source="person")


async def count_replies(database: Database, trace: str, thread: int) -> int:
    """How often Forge replied to people's own words in a review thread during a run.

    :param thread: id of its first comment.
    """
    replied = select(func.count()).where(
        EventRow.trace == trace,
        EventRow.type == EventType.feedback_replied.value,
        number_in(EventRow.payload["thread"]) == thread,
        EventRow.payload["replied"].as_boolean(),
    )
    return await database.scalar(replied) or 0


async def record_refusal(database: Database, trace: str, payload: dict[str, Any], now: datetime) -> None:
    """Record that somebody was refused what they asked for."""
    async with database.transaction() as session:
        record(session, trace, EventType.permission_refused, now, payload=payload)


async def record_failed_tests(
    database: Database, run: Run, testing: str, failed: Sequence[dict[str, Any]], now: datetime
) -> None:
    """Record each test that failed, once for each testing.

    :param testing: identifies it: the head and the occasion.
    """
    async with database.transaction() as session:
        if await session.scalar(select_same(run.id, EventType.test_failed, "testing", testing)) is None:
            for each in failed:
                payload = {**each, "testing": testing}
                record(
                    session, run.id, EventType.test_failed, now, source="tests", phase=Phase.testing, payload=payload
                )


def record_guard(
    connection: Connection, run: Run, phase: Phase, check: Check, turn: int, after: str, now: datetime
) -> None:
    """Record that a guard stopped a phase before a turn; a repeated call before the same turn changes nothing.

    :param turn: how many turns the task had; ``after`` names the last of them.
    """
    _record_before(connection, EventType.guard_tripped, run, phase, check, turn, after, now)


def record_warning(
    connection: Connection, run: Run, phase: Phase, check: Check, turn: int, after: str, now: datetime
) -> None:
    """Record that a limit is close before a turn, as :func:`record_guard` does."""
    _record_before(connection, EventType.breaker_warning, run, phase, check, turn, after, now)


def _record_before(
    connection: Connection, kind: EventType, run: Run, phase: Phase, check: Check, turn: int, after: str, now: datetime
) -> None:
    payload = {
        "name": check.name,
        "turn": turn,
        "after": after,
        **check.reason.model_dump(include={"code", "text", "value", "threshold"}),
    }
    if connection.scalar(select_same(run.id, kind, "after", after)) is None:
        record(connection, run.id, kind, now, source="guard", phase=phase, payload=payload)
