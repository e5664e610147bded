"""Keeps notices until their targets have got them, and reads the events that people may want one about.

Each is kept once for a cause and a target, and no more than is readable.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple, cast

from pydantic import ValidationError
from sqlalchemy import ColumnElement, delete, func, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from domain.events import Event
from domain.gates import Gate
from domain.notices import Notice, NoticeSeverity, NoticeType
from domain.runs.run import RepositoryRef, Run
from domain.value import new_id
from memory import gates
from memory.db.engine import Database, insert_new
from memory.db.tables.deliveries import NoticedEventRow, NoticeRow, NoticeTargetRow
from memory.db.tables.runs import EventRow, RunRow
from memory.repositories import addresses
from safety.notices import WINDOW, is_too_much

WAITING, SENDING, SENT, FAILED = STATES = ("waiting", "sending", "sent", "failed")
_OPEN = (WAITING, SENDING)


class AddressedNotice(NamedTuple):
    """A notice and the key of a target that should get it."""

    target: str
    notice: Notice


@dataclass(frozen=True)
class StoredNotice:
    """A notice to one target, and how far it came.

    :param more: of the notices that it stands for, how many by type.
    """

    id: str
    target: str
    notice: Notice
    state: str
    created_at: datetime
    attempts: int
    problem: str
    ended_at: datetime | None
    more: Mapping[str, int] = field(default_factory=dict[str, int])


async def store(database: Database, event_id: str, addressed: Sequence[AddressedNotice], now: datetime) -> bool:
    """Keep what follows from an event, in one transaction with forgetting it; False if another process did."""
    async with database.transaction() as session:
        forgotten = delete(NoticedEventRow).where(NoticedEventRow.id == event_id).returning(NoticedEventRow.id)
        if (await session.execute(forgotten)).first() is None:
            return False
        for each in addressed:
            await _add(session, database.dialect, each, now)
        return True


async def _add(session: AsyncSession, dialect: str, addressed: AddressedNotice, now: datetime) -> None:
    """Keep a notice, or count it where there are too many; none for a target that wants nothing any more."""
    target, notice = addressed
    known = select(NoticeRow.id).where(NoticeRow.cause == notice.cause, NoticeRow.target == target)
    gone = select(NoticeTargetRow.target).where(NoticeTargetRow.target == target, NoticeTargetRow.gone_at.is_not(None))
    if await session.scalar(known) is not None or await session.scalar(gone) is not None:
        return
    if is_too_much(*await _count(session, addressed, now)):
        await _count_in(session, dialect, addressed, now)
        return
    await session.execute(insert_new(dialect, NoticeRow, _build_row(target, notice, now, now)))


async def _count(session: AsyncSession, addressed: AddressedNotice, now: datetime) -> tuple[int, int, int]:
    """How many notices there are lately of the repository, of all of them, and how many of the repository wait."""
    lately = (NoticeRow.target == addressed.target, NoticeRow.created_at > now - WINDOW, ~_IS_SUM)
    own = NoticeRow.repository_id == _id_of(addressed.notice)
    waits = (NoticeRow.target == addressed.target, own, NoticeRow.state.in_(_OPEN), ~_IS_SUM)
    of_repository = await session.scalar(select(func.count()).where(*lately, own))
    of_target = await session.scalar(select(func.count()).where(*lately))
    waiting = await session.scalar(select(func.count()).where(*waits))
    return of_repository or 0, of_target or 0, waiting or 0


_IS_SUM: ColumnElement[bool] = NoticeRow.type == NoticeType.more.value


async def _count_in(session: AsyncSession, dialect: str, addressed: AddressedNotice, now: datetime) -> None:
    """Count a notice in the one that stands for those that are too many. It is sent when the window is over."""
    target, notice = addressed
    held = (
        update(NoticeRow)
        .where(
            NoticeRow.target == target,
            NoticeRow.repository_id == _id_of(notice),
            NoticeRow.state == WAITING,
            _IS_SUM,
        )
        .values(state=NoticeRow.state)
        .returning(NoticeRow)
    )
    row = (await session.scalars(held, execution_options={"populate_existing": True})).first()
    if row is None:
        first = Notice(
            type=NoticeType.more,
            severity=NoticeSeverity.warning,
            at=now,
            cause=f"more {new_id()}",
            title="",
            text="",
            repository=notice.repository,
        )
        values = _build_row(target, first, now, now + WINDOW)
        await session.execute(insert_new(dialect, NoticeRow, {**values, "more": {notice.type.value: 1}}))
    else:
        row.more = {**row.more, notice.type.value: row.more.get(notice.type.value, 0) + 1}


def _build_row(target: str, notice: Notice, now: datetime, due_at: datetime) -> dict[str, Any]:
    return {
        "id": new_id(),
        "cause": notice.cause,
        "target": target,
        "repository_id": _id_of(notice),
        "type": notice.type.value,
        "content": notice.model_dump(mode="json"),
        "state": WAITING,
        "created_at": now,
        "due_at": due_at,
    }


def _id_of(notice: Notice) -> int:
    return 0 if notice.repository is None else notice.repository.id


async def take_next(database: Database, target: str, now: datetime) -> StoredNotice | None:
    """The oldest notice that is due for a target; from now on it stays as it is, and counts as tried once more."""
    due = (
        select(NoticeRow.id)
        .where(NoticeRow.target == target, NoticeRow.state.in_(_OPEN), NoticeRow.due_at <= now)
        .order_by(NoticeRow.id)
        .limit(1)
    )
    async with database.transaction() as session:
        taken = (
            update(NoticeRow)
            .where(NoticeRow.id == due.scalar_subquery(), NoticeRow.state.in_(_OPEN))
            .values(state=SENDING, attempts=NoticeRow.attempts + 1)
            .returning(NoticeRow)
        )
        row = (await session.scalars(taken, execution_options={"populate_existing": True})).first()
        return None if row is None else _parse(row)


async def finish(database: Database, notice_id: str, state: str, problem: str, now: datetime) -> None:
    """Record that a notice was sent, or never will be."""
    done = update(NoticeRow).where(NoticeRow.id == notice_id, NoticeRow.state.in_(_OPEN))
    await database.execute(done.values(state=state, problem=problem, ended_at=now))


async def note_problem(database: Database, notice_id: str, problem: str) -> None:
    """Record why an attempt failed after which there will be another."""
    await database.execute(update(NoticeRow).where(NoticeRow.id == notice_id).values(problem=problem))


async def give_up(
    database: Database, target: str, problem: str, now: datetime, created_before: datetime | None = None
) -> int:
    """End everything that waits for a target; how much.

    :param created_before: only what is older.
    """
    left = update(NoticeRow).where(NoticeRow.target == target, NoticeRow.state.in_(_OPEN))
    if created_before is not None:
        left = left.where(NoticeRow.created_at <= created_before)
    ended = left.values(state=FAILED, problem=problem, ended_at=now).returning(NoticeRow.id)
    return len(await database.rows(ended))


async def list_latest(
    database: Database, limit: int, states: Sequence[str] = STATES, repository_id: int | None = None
) -> Sequence[StoredNotice]:
    """The notices of all repositories, or of one, newest first."""
    query = select(NoticeRow).where(NoticeRow.state.in_(states)).order_by(NoticeRow.id.desc()).limit(limit)
    if repository_id is not None:
        query = query.where(NoticeRow.repository_id == repository_id)
    return [_parse(row) for row in await database.scalars(query)]


async def count_by_state(database: Database) -> Mapping[str, int]:
    """How many notices of the last weeks there are in each state."""
    async with database.transaction() as session:
        rows = await session.execute(select(NoticeRow.state, func.count()).group_by(NoticeRow.state))
        found = Counter(dict(cast(Sequence[tuple[str, int]], rows.all())))
    return {state: found[state] for state in STATES}


def _parse(row: NoticeRow) -> StoredNotice:
    return StoredNotice(
        row.id,
        row.target,
        Notice.model_validate(row.content),
        row.state,
        row.created_at,
        row.attempts,
        row.problem,
        row.ended_at,
        dict(row.more),
    )


@dataclass(frozen=True)
class NoticedEvent:
    """An event and what it is about.

    :param repository: None: all of Forge.
    """

    event: Event
    repository: RepositoryRef | None
    run: Run | None = None
    gate: Gate | None = None


async def list_untold(database: Database, most: int, beyond: str = "") -> Sequence[NoticedEvent]:
    """The oldest events that nobody was told of; it only reads.

    :param beyond: the id of an event; only later ones.
    """
    query = (
        select(EventRow)
        .join(NoticedEventRow, NoticedEventRow.id == EventRow.id)
        .where(NoticedEventRow.id > beyond)
        .order_by(NoticedEventRow.id)
        .limit(most)
    )
    async with database.transaction() as session:
        rows = (await session.scalars(query)).all()
        found = [await _describe(session, row) for row in rows]
    return [await _add_gate(database, each) for each in found]


async def _describe(session: AsyncSession, row: EventRow) -> NoticedEvent:
    event = Event.model_validate(row, from_attributes=True)
    of_run = await session.get(RunRow, row.trace)
    if of_run is not None:
        run = of_run.as_run()
        return NoticedEvent(event, run.repository, run)
    return NoticedEvent(event, await _find_repository(session, event.payload))


async def _find_repository(session: AsyncSession, facts: Mapping[str, Any]) -> RepositoryRef | None:
    """The repository that an event names, by its id or as a whole."""
    named = facts.get("repository")
    if isinstance(named, int):
        return await addresses.find_address_within(session, named)
    try:
        return RepositoryRef.model_validate(named)
    except ValidationError:
        return None


async def _add_gate(database: Database, noticed: NoticedEvent) -> NoticedEvent:
    gate_id = noticed.event.payload.get("gate")
    gate = await gates.get(database, gate_id) if isinstance(gate_id, str) else None
    return NoticedEvent(noticed.event, noticed.repository, noticed.run, gate)
