"""A connection that executes one statement, on PostgreSQL."""

from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import text

from domain.errors import DatabaseUnavailable
from memory.db.engine import begin, sync_engine
from memory.db.postgresql import DedicatedConnection
from tests.databases import create_database, drop_database
from tests.threats.outages import disconnect

TABLE = "CREATE TABLE told (what text CONSTRAINT once UNIQUE DEFERRABLE INITIALLY DEFERRED, said int)"
LARGE = 20_000_000  # bytes, more than a socket takes at once


@pytest.fixture
def url(tmp_path: Path) -> Generator[str]:
    """A database of its own, because a table is added."""
    address = create_database("postgresql", tmp_path)
    yield address
    drop_database(address)


@asynccontextmanager
async def open_connection(url: str, statement: str) -> AsyncGenerator[DedicatedConnection]:
    engine = sync_engine(url)
    with begin(engine) as connection:
        connection.execute(text(TABLE))
    engine.dispose()
    opened = DedicatedConnection(engine, statement, seconds=3)
    try:
        yield opened
    finally:
        await opened.close()


async def test_returns_rows_as_text(url: str) -> None:
    statement = "INSERT INTO told VALUES ($1, $2::int), (NULL, 7) RETURNING *"
    async with open_connection(url, statement) as connection:
        what = 'zażółć "🎈" %s %%'.encode()
        assert await connection.execute(what, b"5") == [(what, b"5"), (None, b"7")]


async def test_sends_and_receives_more_than_a_socket_takes_at_once(url: str) -> None:
    async with open_connection(url, "SELECT $1, length($1::text)") as connection:
        large = b"x" * LARGE
        assert await connection.execute(large) == [(large, str(LARGE).encode())]


async def test_is_not_done_before_the_commit(url: str) -> None:
    """A constraint that is checked by the commit, after the rows were returned."""
    async with open_connection(url, "INSERT INTO told VALUES ($1) RETURNING what") as connection:
        assert await connection.execute(b"one") == [(b"one",)]
        with pytest.raises(psycopg.errors.UniqueViolation, match="once"):
            await connection.execute(b"one")
        assert await connection.execute(b"another") == [(b"another",)]


async def test_opens_anew_after_the_server_ended_it(url: str) -> None:
    async with open_connection(url, "SELECT $1") as connection:
        await connection.execute(b"before")
        await disconnect(url)
        with pytest.raises(DatabaseUnavailable, match=r"The database failed: .*terminat"):
            await connection.execute(b"meanwhile")
        assert await connection.execute(b"after") == [(b"after",)]


async def test_a_statement_that_cannot_be_prepared_is_told_each_time(url: str) -> None:
    async with open_connection(url, "SELECT $1 FROM nowhere") as connection:
        for _ in range(2):
            with pytest.raises(psycopg.errors.UndefinedTable):
                await connection.execute(b"")
