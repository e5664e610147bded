"""Finds the safety events of the ledger: who decided what and when, and which limits stopped a run."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, func, or_, select, tuple_
from sqlalchemy.orm import InstrumentedAttribute

from domain.events import Event, EventType
from memory.db.engine import Database, number_in
from memory.db.tables.deliveries import DeliveryRow
from memory.db.tables.gates import GateRow
from memory.db.tables.ledger import EventRow
from memory.db.tables.runs import RunRow
from messages.audit import RUN_EVENTS, SAFETY_EVENTS, AuditEntry

_PAGE = 500  # events
_ID_LENGTH = 26  # characters of a ULID
_IN_ORDER = (EventRow.time, EventRow.id)
_BEFORE_ALL = datetime(1970, 1, 1, tzinfo=UTC)
_Rows = Select[
    EventRow, str, str, int, dict[str, Any] | None
]  # the run's repository and number, the delivery's command


@dataclass(frozen=True)
class EventFilter:
    """Which events to find; None: all.

    :param run: the whole id of a run; its changes of state are included.
    :param gate: the name of gates, or of one gate with ``gate_id``; the changes of its run's state are included.
    :param breaker: the name of a breaker or a guard.
    :param family: the first part of its type, such as ``gate``.
    :param account: who acted: a login, or the number of an account.
    :param repositories: numeric ids.
    :param since: from this time on; ``until``: before this one.
    """

    run: str | None = None
    gate: str | None = None
    gate_id: str | None = None
    breaker: str | None = None
    family: str | None = None
    account: str | None = None
    repositories: Sequence[int] | None = None
    since: datetime | None = None
    until: datetime | None = None
    types: Sequence[EventType] = field(default=SAFETY_EVENTS)


async def list_newest(database: Database, wanted: EventFilter, limit: int) -> Sequence[AuditEntry]:
    """The newest events, in the order in which they happened."""
    query = (await _build_query(database, wanted)).order_by(EventRow.time.desc(), EventRow.id.desc()).limit(limit)
    return [*reversed(await _load_page(database, query))]


async def stream_all(database: Database, wanted: EventFilter, size: int = _PAGE) -> AsyncGenerator[AuditEntry]:
    """All events, oldest first; read in pages of this size, so that a long export holds no transaction."""
    query = (await _build_query(database, wanted)).order_by(*_IN_ORDER).limit(size)
    page = await _load_page(database, query)
    while page:
        for entry in page:
            yield entry
        last = page[-1].event
        page = await _load_page(database, query.where(tuple_(*_IN_ORDER) > tuple_(last.time, last.id)))


async def list_older(database: Database, wanted: EventFilter, before: str, limit: int) -> Sequence[AuditEntry]:
    """The events before this one, newest first.

    :param before: the id of an event; empty: from the newest one on.
    """
    query = (await _build_query(database, wanted)).order_by(EventRow.time.desc(), EventRow.id.desc()).limit(limit)
    if before:
        query = query.where(tuple_(*_IN_ORDER) < await _find_place(database, before))
    return await _load_page(database, query)


async def list_newer(database: Database, wanted: EventFilter, after: str, limit: int) -> Sequence[AuditEntry]:
    """The events right after this one, newest first.

    :param after: the id of an event.
    """
    query = (await _build_query(database, wanted)).order_by(*_IN_ORDER).limit(limit)
    query = query.where(tuple_(*_IN_ORDER) > await _find_place(database, after))
    return [*reversed(await _load_page(database, query))]


async def _find_place(database: Database, event_id: str) -> ColumnElement[Any]:
    """Where an event is in the order; one that is gone, or never was, is before all."""
    async with database.transaction() as session:
        at = await session.scalar(select(EventRow.time).where(EventRow.id == event_id))
    return tuple_(at or _BEFORE_ALL, event_id)


async def find_runs(database: Database, ending: str, repository_id: int | None = None) -> Sequence[str]:
    """The ids of runs that end so, newest first; at most five, enough to see that there are several.

    :param repository_id: only of this repository; None: of all.
    """
    is_whole = len(ending) == _ID_LENGTH
    ends = RunRow.id == ending.upper() if is_whole else RunRow.id.endswith(ending.upper(), autoescape=True)
    query = select(RunRow.id).where(ends)
    if repository_id is not None:
        query = query.where(RunRow.repository_id == repository_id)
    async with database.transaction() as session:
        return (await session.scalars(query.order_by(RunRow.id.desc()).limit(5))).all()


async def find_repositories(database: Database, full_name: str) -> Sequence[int]:
    """The ids of the repositories that had this name at a run; upper and lower case are the same, as on GitHub."""
    named = func.lower(RunRow.owner + "/" + RunRow.name) == full_name.lower()
    async with database.transaction() as session:
        return (await session.scalars(select(RunRow.repository_id).where(named).distinct())).all()


async def list_gate_names(database: Database) -> Sequence[str]:
    """The names of all gates there ever were."""
    async with database.transaction() as session:
        return (await session.scalars(select(GateRow.name).distinct().order_by(GateRow.name))).all()


async def _build_query(database: Database, wanted: EventFilter) -> _Rows:
    conditions = [_matches(wanted, await _find_run(database, wanted.gate_id))]
    if wanted.repositories is not None:
        conditions.append(_is_in(wanted.repositories))
    if wanted.account is not None:
        conditions.append(_is_by(wanted.account))
    if wanted.family is not None:
        conditions.append(EventRow.type.startswith(f"{wanted.family}.", autoescape=True))
    if wanted.since is not None:
        conditions.append(EventRow.time >= wanted.since)
    if wanted.until is not None:
        conditions.append(EventRow.time < wanted.until)
    return (
        select(EventRow, RunRow.owner, RunRow.name, RunRow.number, DeliveryRow.command)
        .outerjoin(RunRow, RunRow.id == EventRow.trace)
        .outerjoin(DeliveryRow, DeliveryRow.guid == EventRow.trace)
        .where(*conditions)
    )


async def _find_run(database: Database, gate_id: str | None) -> str | None:
    if gate_id is None:
        return None
    async with database.transaction() as session:
        return await session.scalar(select(GateRow.run_id).where(GateRow.id == gate_id))


def _matches(wanted: EventFilter, run_of_gate: str | None) -> ColumnElement[bool]:
    safety = or_(EventRow.type.in_([kind.value for kind in wanted.types]), _IS_ROLLBACK)
    moves = EventRow.type.in_([kind.value for kind in RUN_EVENTS])
    if wanted.gate_id is not None:
        return or_(safety & (_text("gate") == wanted.gate_id), moves & (EventRow.trace == run_of_gate))
    if wanted.gate is not None:
        return safety & _text("gate").is_not(None) & (_text("name") == wanted.gate)
    if wanted.breaker is not None:
        refused = and_(EventRow.type == EventType.budget_refused.value, _text("check", "name") == wanted.breaker)
        named = or_(_text("name") == wanted.breaker, _text("name").startswith(f"{wanted.breaker}.", autoescape=True))
        tripped = or_(EventRow.type.startswith("breaker."), EventRow.type.startswith("guard."))
        return or_(tripped & named, refused)
    if wanted.run is not None:
        return or_(safety, moves) & (EventRow.trace == wanted.run)
    return safety


def _is_in(repository_ids: Sequence[int]) -> ColumnElement[bool]:
    """Whether an event is of a run or a delivery in these repositories, or about one of them as such."""
    return or_(
        RunRow.repository_id.in_(repository_ids),
        number_in(DeliveryRow.command["repository"]["id"]).in_(repository_ids),
        and_(RunRow.id.is_(None), number_in(EventRow.payload["repository"]).in_(repository_ids)),
    )


def _is_by(account: str) -> ColumnElement[bool]:
    """Whether an account did it; upper and lower case are the same, as on GitHub."""
    if account.isascii() and account.isdigit() and len(account) < 16:
        return or_(*(number_in(EventRow.payload[key]) == int(account) for key in ("by_id", "account")))
    return or_(*(func.lower(_text(key)) == account.lower() for key in ("by_login", "by")))


def _text(*path: str) -> ColumnElement[str]:
    column: InstrumentedAttribute[Any] | ColumnElement[Any] = EventRow.payload
    for each in path:
        column = column[each]
    return column.as_string()


_IS_ROLLBACK = and_(EventRow.type == EventType.checkpoint_created.value, _text("cause") == "rollback")
"""A person took an agent's work back; other checkpoints decide nothing."""


async def _load_page(database: Database, query: _Rows) -> Sequence[AuditEntry]:
    async with database.transaction() as session:
        return [_entry(*row) for row in await session.execute(query)]


def _entry(
    row: EventRow, owner: str | None, name: str | None, number: int | None, command: dict[str, Any] | None
) -> AuditEntry:
    event = Event.model_validate({field_: getattr(row, field_) for field_ in Event.model_fields})
    if owner is not None:
        return AuditEntry(event, event.trace, f"{owner}/{name}", number)
    asked = command or {}
    there: dict[str, Any] = asked.get("repository") or {}
    full_name = f"{there['owner']}/{there['name']}" if there else ""
    return AuditEntry(event, "", full_name, asked.get("number") or event.payload.get("number"))
