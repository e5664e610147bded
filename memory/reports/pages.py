"""Loads what the dashboard's pages about runs, gates and repositories show, paged by key."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Generic, TypeVar

from sqlalchemy import ColumnElement, bindparam, func, select
from sqlalchemy.ext.asyncio import AsyncSession

from domain.events import Event, EventType
from domain.gates import Gate, GateState
from domain.review.review import Review
from domain.runs.run import RepositoryRef, Run, RunState
from memory.db.engine import Connection, Database
from memory.db.tables.repositories import GateRow, MemoryRow, RepositoryRow
from memory.db.tables.runs import AnswerRow, EventRow, PullRequestRow, RunRow, SpendRow
from memory.gates import parse_gate
from memory.runs import model_answers
from memory.runs.checkpoints import load_reviews
from messages.changes import AgentTurn
from safety.automation_level import START

T = TypeVar("T")

_LEFT_OUT = (EventType.budget_reserved.value,)
"""What the timeline of a run leaves out: the settlement follows each reservation."""


@dataclass(frozen=True)
class KeyedPage(Generic[T]):
    """A page of a long list, which is read from the newest entry to the oldest.

    :param items: newest first.
    :param newer: the key after which the page before begins; empty: this is the first one.
    :param older: the key before which the next page begins; empty: this is the last one.
    """

    items: Sequence[T]
    newer: str = ""
    older: str = ""


@dataclass(frozen=True)
class PageKey:
    """Where a page begins; without both, at the newest entry.

    :param before: only what is older than this key.
    :param after: only what is newer; the entries next to it.
    """

    before: str = ""
    after: str = ""


@dataclass(frozen=True)
class RunFilter:
    """Which runs are listed; None: all.

    :param number: of the issue or pull request.
    """

    state: RunState | None = None
    number: int | None = None


@dataclass(frozen=True)
class ListedRun:
    """A run with its times and its cost in micro-USD.

    :param title: of its pull request or issue, as far as it is known.
    :param review: what it came to, if that is known and asked for.
    """

    run: Run
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    cost: int = 0
    title: str = ""
    review: Review | None = None


async def list_runs(
    database: Database, repository_id: int, wanted: RunFilter, key: PageKey, limit: int
) -> KeyedPage[ListedRun]:
    """A page of the runs of a repository.

    :param key: ids of runs.
    """
    where = [RunRow.repository_id == repository_id]
    if wanted.state is not None:
        where.append(RunRow.state == wanted.state.value)
    if wanted.number is not None:
        where.append(RunRow.number == wanted.number)
    async with database.transaction() as session:
        rows, newer, older = await load_page(session, RunRow, where, key, limit)
        costs = await _sum_costs(session, [row.id for row in rows])
        titles = await load_titles(session, repository_id, {row.number for row in rows})
    reviews = await load_reviews(database, [row.id for row in rows])
    listed = [replace(_list(row, costs, titles), review=reviews.get(row.id)) for row in rows]
    return KeyedPage(listed, newer, older)


async def find_run(database: Database, repository_id: int, run_id: str) -> ListedRun | None:
    """A run of this repository."""
    async with database.transaction() as session:
        row = await session.get(RunRow, run_id)
        if row is None or row.repository_id != repository_id:
            return None
        titles = await load_titles(session, repository_id, [row.number])
        return _list(row, await _sum_costs(session, [run_id]), titles)


@dataclass(frozen=True)
class TimelineEntry:
    """An event of a run, and what the model said and used, if it is a turn and its answer is still kept."""

    event: Event
    turn: AgentTurn | None = None


async def load_timeline(
    database: Database, traces: Sequence[str], key: PageKey, limit: int
) -> KeyedPage[TimelineEntry]:
    """A page of what happened in runs.

    :param traces: their ids.
    :param key: ids of events.
    """
    where = [EventRow.trace.in_(traces), EventRow.type.not_in(_LEFT_OUT)]
    async with database.transaction() as session:
        rows, newer, older = await load_page(session, EventRow, where, key, limit)
        events = [Event.model_validate(row, from_attributes=True) for row in rows]
        asked = [_question(event) for event in events]
        turns = await _load_turns(session, traces, [each for each in asked if each])
    items = [
        TimelineEntry(event, turns.get((event.trace, question))) for event, question in zip(events, asked, strict=True)
    ]
    return KeyedPage(items, newer, older)


KeyedRow = TypeVar("KeyedRow", RunRow, EventRow, GateRow, MemoryRow)


async def load_page(
    session: AsyncSession, table: type[KeyedRow], where: Sequence[ColumnElement[bool]], key: PageKey, limit: int
) -> tuple[Sequence[KeyedRow], str, str]:
    """The rows of a page, newest first, and the keys of the pages around it, in the caller's transaction."""
    query = select(table).where(*where)
    if key.after:
        rising = query.where(table.id > key.after).order_by(table.id).limit(limit + 1)
        found = (await session.scalars(rising)).all()
        rows, has_newer, has_older = [*reversed(found[:limit])], len(found) > limit, True
    else:
        falling = query.order_by(table.id.desc()).limit(limit + 1)
        if key.before:
            falling = falling.where(table.id < key.before)
        found = (await session.scalars(falling)).all()
        rows, has_newer, has_older = [*found[:limit]], bool(key.before), len(found) > limit
    newer = rows[0].id if rows and has_newer else ""
    older = rows[-1].id if rows and has_older else ""
    return rows, newer, older


async def _sum_costs(session: AsyncSession, run_ids: Sequence[str]) -> Mapping[str, int]:
    query = select(SpendRow.run_id, func.sum(SpendRow.amount)).where(SpendRow.run_id.in_(run_ids))
    return {run_id: int(amount) for run_id, amount in await session.execute(query.group_by(SpendRow.run_id))}


async def load_titles(session: AsyncSession, repository_id: int, numbers: Collection[int]) -> Mapping[int, str]:
    """What pull requests and issues are called, by number, as far as it is known; in the caller's transaction."""
    query = select(PullRequestRow.number, PullRequestRow.title).where(
        PullRequestRow.repository_id == repository_id, PullRequestRow.number.in_(numbers), PullRequestRow.title != ""
    )
    return {row[0]: row[1] for row in await session.execute(query)}


def _list(row: RunRow, costs: Mapping[str, int], titles: Mapping[int, str]) -> ListedRun:
    times = row.created_at, row.started_at, row.finished_at
    return ListedRun(row.as_run(), *times, costs.get(row.id, 0), titles.get(row.number, ""))


def _question(event: Event) -> str:
    return str(event.payload.get("question", "")) if event.type is EventType.agent_iterated else ""


async def _load_turns(
    session: AsyncSession, traces: Sequence[str], questions: Sequence[str]
) -> Mapping[tuple[str, str], AgentTurn]:
    query = select(AnswerRow).where(AnswerRow.run_id.in_(traces), AnswerRow.question.in_(questions))
    return {
        (row.run_id, row.question): model_answers.parse_history_entry(row.value, row.time)
        for row in await session.scalars(query)
    }


async def list_waiting(database: Database, repository_ids: Collection[int], limit: int) -> Sequence[Gate]:
    """The gates of these repositories that wait, those that expire first at the top."""
    query = select(GateRow).where(
        GateRow.state == GateState.waiting.value, GateRow.repository_id.in_(list(repository_ids))
    )
    rows = await database.scalars(query.order_by(GateRow.until, GateRow.id).limit(limit))
    return [parse_gate(row) for row in rows]


async def list_closed(database: Database, repository_id: int, key: PageKey, limit: int) -> KeyedPage[Gate]:
    """A page of the gates of a repository that wait no more, those asked last at the top.

    :param key: ids of gates.
    """
    where = [GateRow.repository_id == repository_id, GateRow.state != GateState.waiting.value]
    async with database.transaction() as session:
        rows, newer, older = await load_page(session, GateRow, where, key, limit)
    return KeyedPage([parse_gate(row) for row in rows], newer, older)


@dataclass(frozen=True)
class LatestRun:
    """The newest run of a repository.

    :param at: when it was admitted.
    """

    run: Run
    at: datetime


@dataclass(frozen=True)
class RepositoryStanding:
    """How far Forge is in a repository.

    :param level: of automation, as reached or set.
    :param waiting: gates that wait for people.
    """

    level: int = START
    waiting: int = 0
    latest: LatestRun | None = None


async def find_repository(database: Database, owner: str, name: str) -> RepositoryRef | None:
    """The repository in which something ran under this name, spelt like this; the one of the newest run."""
    query = select(RunRow).where(RunRow.owner == owner, RunRow.name == name).order_by(RunRow.id.desc()).limit(1)
    row = await database.scalar(query)
    return None if row is None else row.as_run().repository


_LATEST = (
    select(RunRow.__table__).where(RunRow.repository_id == bindparam("repository")).order_by(RunRow.id.desc()).limit(1)
)
"""One look into an index for each repository; the maxima of a group would read all runs on SQLite."""


async def load_overviews(database: Database, repository_ids: Collection[int]) -> Mapping[int, RepositoryStanding]:
    """The overview of each repository, by id."""
    return await database.run_in_transaction(lambda connection: _load_overviews(connection, repository_ids))


def _load_overviews(connection: Connection, repository_ids: Collection[int]) -> Mapping[int, RepositoryStanding]:
    waiting = (
        select(GateRow.repository_id, func.count())
        .where(GateRow.repository_id.in_(repository_ids), GateRow.state == GateState.waiting.value)
        .group_by(GateRow.repository_id)
    )
    levels = select(RepositoryRow.repository_id, func.coalesce(RepositoryRow.level, START)).where(
        RepositoryRow.repository_id.in_(repository_ids)
    )
    counts = {row[0]: row[1] for row in connection.execute(waiting)}
    reached = {row[0]: row[1] for row in connection.execute(levels)}
    return {
        number: RepositoryStanding(reached.get(number, START), counts.get(number, 0), _find_latest(connection, number))
        for number in repository_ids
    }


def _find_latest(connection: Connection, repository_id: int) -> LatestRun | None:
    found = connection.execute(_LATEST, {"repository": repository_id}).mappings().one_or_none()
    # pyrefly: ignore[bad-unpacking]  # the keys are names of columns
    return None if found is None else LatestRun(RunRow(**found).as_run(), found["created_at"])
