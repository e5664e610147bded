"""A transaction that is done at once, in a thread: what it stores and tells, and what it leaves if it ends early."""

import asyncio
import threading
from collections.abc import AsyncGenerator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import text

from domain.errors import DatabaseUnavailable
from domain.events import Event, EventType
from memory import ledger
from memory.db.engine import PLANNED_ONCE, Connection, Database, insert_new
from memory.db.tables.repositories import RepositoryRow
from tests.databases import Backend, create_database, drop_database

NOW = datetime(2026, 1, 31, tzinfo=UTC)


class TwoDatabases:
    """Two databases as of two processes, and what the first one told its subscribers."""

    def __init__(self, url: str) -> None:
        self.ours, self.theirs = Database(url), Database(url, busy_seconds=0.2)
        self.told: list[Event] = []
        self.ours.bus.subscribe(self.told.append)

    async def count_rows(self) -> int:
        return len(await ledger.load_events(self.theirs, "a run"))


@pytest.fixture(params=["sqlite", "postgresql"])
async def books(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[TwoDatabases]:
    backend: Backend = request.param
    url = create_database(backend, tmp_path)
    opened = TwoDatabases(url)
    yield opened
    for database in (opened.ours, opened.theirs):
        await database.close()
    drop_database(url)


def tell(connection: Connection) -> str:
    ledger.record(connection, "a run", EventType.run_started, NOW)
    return "done"


async def test_it_stores_and_tells_once(books: TwoDatabases):
    assert await books.ours.run_in_transaction(tell) == "done"
    assert await books.ours.run_in_transaction(lambda _: "nothing to tell") == "nothing to tell"
    assert (await books.count_rows(), [event.type for event in books.told]) == (1, [EventType.run_started])


async def test_what_fails_stores_and_tells_nothing(books: TwoDatabases):
    def fail(connection: Connection) -> None:
        tell(connection)
        raise RuntimeError

    with pytest.raises(RuntimeError):
        await books.ours.run_in_transaction(fail)
    assert (await books.count_rows(), books.told) == (0, [])


async def test_what_is_cancelled_stores_and_tells_nothing(books: TwoDatabases):
    """Nobody hears that it is done, so it must not be: a reservation would stay for ever."""
    begun, let_go = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def wait(connection: Connection) -> None:
        tell(connection)
        loop.call_soon_threadsafe(begun.set)
        let_go.wait(5)

    task = asyncio.create_task(books.ours.run_in_transaction(wait))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    let_go.set()
    await books.ours.close()
    assert (await books.count_rows(), books.told) == (0, [])


@pytest.mark.parametrize("backend", ["sqlite"])
async def test_it_stands_in_line_with_the_other_writers(backend: Backend, tmp_path: Path):
    """Of one file one writes at a time; who waits too long learns that the database did not take part."""
    url = create_database(backend, tmp_path)
    patient, hasty = Database(url), Database(url, busy_seconds=0.1)
    async with patient.transaction() as session:
        await session.execute(insert_new(backend, RepositoryRow, {"repository_id": 1}))
        waiting = asyncio.create_task(patient.run_in_transaction(tell))
        with pytest.raises(DatabaseUnavailable):
            await hasty.run_in_transaction(tell)
        assert not waiting.done()
    assert await waiting == "done"
    for database in (patient, hasty):
        await database.close()


async def test_what_is_planned_once_ends_with_its_transaction(tmp_path: Path) -> None:
    """The connections of the pool serve others, too, whose indexes need plans for their values."""
    url = create_database("postgresql", tmp_path)
    database = Database(url)

    def mode(connection: Connection) -> str:
        return str(connection.exec_driver_sql("SHOW plan_cache_mode").scalar_one())

    def once(connection: Connection) -> str:
        connection.execute(text(f"SELECT {PLANNED_ONCE}"))
        return mode(connection)

    assert [await database.run_in_transaction(each) for each in (mode, once, mode)] == [
        "auto",
        "force_generic_plan",
        "auto",
    ]
    await database.close()
    drop_database(url)
