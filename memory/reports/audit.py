"""Finds the safety events of the ledger: who decided what and when, and which limits stopped a run."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVarTuple

from sqlalchemy import ColumnElement, Select, and_, func, or_, select, tuple_, union_all
from sqlalchemy.orm import InstrumentedAttribute

from domain.events import Event, EventType
from memory.db.engine import Database, number_in
from memory.db.tables.deliveries import DeliveryRow
from memory.db.tables.repositories import GateRow
from memory.db.tables.runs import IS_AUDITED, IS_BESIDE_RUNS, EventRow, RunRow
from messages.audit import RUN_EVENTS, SAFETY_EVENTS, AuditEntry

Ts = TypeVarTuple("Ts")

_PAGE = 500  # events
_ID_LENGTH = 26  # characters of a ULID
_IN_ORDER = (EventRow.time, EventRow.id)
_FALLING = (EventRow.time.desc(), EventRow.id.desc())
_BEFORE_ALL = datetime(1970, 1, 1, tzinfo=UTC)
_FEW = 500
"""Up to so many runs of repositories, their events are found by them; else the events are looked through in order."""
LOOKED = 5_000
"""Events that are looked at for one page of what an account did, which only their content tells."""


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


@dataclass(frozen=True)
class AuditPage:
    """Events, newest first.

    :param far: the id of the event up to which was looked, though there are more; empty: nothing was left out.
    """

    entries: Sequence[AuditEntry]
    far: str = ""


async def list_newest(database: Database, wanted: EventFilter, limit: int) -> Sequence[AuditEntry]:
    """The newest events, in the order in which they happened."""
    query = (await _build_query(database, wanted)).order_by(*_FALLING).limit(limit)
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


async def list_older(database: Database, wanted: EventFilter, before: str, limit: int) -> AuditPage:
    """The events before this one.

    :param before: the id of an event; empty: from the newest one on.
    """
    query = (await _build_query(database, wanted)).order_by(*_FALLING).limit(limit)
    place = [tuple_(*_IN_ORDER) < await _find_place(database, before)] if before else []
    far = await _find_far_end(database, wanted, _FALLING, place)
    query = query.where(*place, *([tuple_(*_IN_ORDER) >= tuple_(*far)] if far else []))
    return AuditPage(await _load_page(database, query), far[1] if far else "")


async def list_newer(database: Database, wanted: EventFilter, after: str, limit: int) -> AuditPage:
    """The events right after this one.

    :param after: the id of an event.
    """
    query = (await _build_query(database, wanted)).order_by(*_IN_ORDER).limit(limit)
    place = [tuple_(*_IN_ORDER) > await _find_place(database, after)]
    far = await _find_far_end(database, wanted, _IN_ORDER, place)
    query = query.where(*place, *([tuple_(*_IN_ORDER) <= tuple_(*far)] if far else []))
    return AuditPage([*reversed(await _load_page(database, query))], far[1] if far else "")


async def _find_far_end(
    database: Database, wanted: EventFilter, order: Sequence[Any], place: Sequence[ColumnElement[bool]]
) -> tuple[datetime, str] | None:
    """The last event that is looked at for a page; None: there are not so many, or all may be looked at."""
    if wanted.account is None or wanted.run is not None or await _is_quiet(database, wanted.repositories or ()):
        return None
    query = select(*_IN_ORDER).where(IS_AUDITED, *place).order_by(*order).offset(LOOKED - 1).limit(1)
    found = await database.rows(query)
    return (found[0][0], found[0][1]) if found else None


async def _find_place(database: Database, event_id: str) -> ColumnElement[Any]:
    """Where an event is in the order; one that is gone, or never was, is before all."""
    at = await database.scalar(select(EventRow.time).where(EventRow.id == event_id))
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
    return await database.scalars(query.order_by(RunRow.id.desc()).limit(5))


async def find_repositories(database: Database, full_name: str) -> Sequence[int]:
    """The ids of the repositories that had this name at a run; upper and lower case are the same, as on GitHub."""
    named = func.lower(RunRow.owner + "/" + RunRow.name) == full_name.lower()
    return await database.scalars(select(RunRow.repository_id).where(named).distinct())


async def list_gate_names(database: Database) -> Sequence[str]:
    """The names of all gates there ever were."""
    return await database.scalars(select(GateRow.name).distinct().order_by(GateRow.name))


async def _build_query(database: Database, wanted: EventFilter) -> Select[str]:
    """The ids of the events, which indexes tell mostly."""
    conditions: list[Any] = [_matches(wanted, await _find_run(database, wanted.gate_id))]
    if wanted.run is None and wanted.gate_id is None:
        conditions.append(IS_AUDITED)  # finds their index
    if wanted.family is not None:
        conditions.append(EventRow.type.startswith(f"{wanted.family}.", autoescape=True))
    if wanted.account is not None:
        conditions.append(_is_by(wanted.account))
    if wanted.repositories is not None:
        conditions.append(_is_in(wanted.repositories))
        if await _is_quiet(database, wanted.repositories):
            conditions.append(EventRow.id.in_(_select_all_in(wanted.repositories)))
    if wanted.since is not None:
        conditions.append(EventRow.time >= wanted.since)
    if wanted.until is not None:
        conditions.append(EventRow.time < wanted.until)
    return _join(select(EventRow.id)).where(*conditions)


def _join(query: Select[*Ts]) -> Select[*Ts]:
    """With the run or the delivery that an event belongs to."""
    joined = query.outerjoin(RunRow, RunRow.id == EventRow.trace)
    return joined.outerjoin(DeliveryRow, DeliveryRow.guid == EventRow.trace)


async def _is_quiet(database: Database, repository_ids: Sequence[int]) -> bool:
    """Whether little happened in these repositories."""
    query = select(RunRow.id).where(RunRow.repository_id.in_(repository_ids)).offset(_FEW).limit(1)
    return await database.scalar(query) is None


def _select_all_in(repository_ids: Sequence[int]) -> Any:
    """The ids of all events of the runs of quiet repositories, and of those that belong to no run at all."""
    of_runs = select(RunRow.id).where(RunRow.repository_id.in_(repository_ids))
    return union_all(select(EventRow.id).where(EventRow.trace.in_(of_runs)), select(EventRow.id).where(IS_BESIDE_RUNS))


async def _find_run(database: Database, gate_id: str | None) -> str | None:
    if gate_id is None:
        return None
    return await database.scalar(select(GateRow.run_id).where(GateRow.id == gate_id))


def _matches(wanted: EventFilter, run_of_gate: str | None) -> ColumnElement[bool]:
    kinds = [kind.value for kind in SAFETY_EVENTS if wanted.family in (None, kind.value.partition(".")[0])]
    safety = EventRow.type.in_(kinds)
    if wanted.family in (None, EventType.checkpoint_created.value.partition(".")[0]):
        safety = or_(safety, _IS_ROLLBACK)
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


async def _load_page(database: Database, query: Select[str]) -> Sequence[AuditEntry]:
    """The events of a query for ids, in its order."""
    rows = _join(select(EventRow, RunRow.owner, RunRow.name, RunRow.number, DeliveryRow.command))
    async with database.transaction() as session:
        ids = (await session.scalars(query)).all()
        found = {row[0].id: _entry(*row) for row in await session.execute(rows.where(EventRow.id.in_(ids)))}
    return [found[each] for each in ids if each in found]


def _entry(
    row: EventRow, owner: str | None, name: str | None, number: int | None, command: dict[str, Any] | None
) -> AuditEntry:
    event = Event.model_validate(row, from_attributes=True)
    if owner is not None:
        return AuditEntry(event, event.trace, f"{owner}/{name}", number)
    asked = command or {}
    there: dict[str, Any] = asked.get("repository") or {}
    full_name = f"{there['owner']}/{there['name']}" if there else ""
    return AuditEntry(event, "", full_name, asked.get("number") or event.payload.get("number"))
