"""Takes the database away from Forge for a while."""

import asyncio
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import psycopg
from psycopg import sql
from sqlalchemy import make_url

_LOCK = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("PRAGMA busy_timeout=30000")
connection.execute("BEGIN IMMEDIATE")
print("locked", flush=True)
sys.stdin.read()
connection.rollback()
"""


@asynccontextmanager
async def outage(url: str) -> AsyncGenerator[None]:
    """SQLite is locked by another process; PostgreSQL refuses everyone."""
    taken = _lock(url) if url.startswith("sqlite") else _close(url)
    async with taken:
        yield


@asynccontextmanager
async def _lock(url: str) -> AsyncGenerator[None]:
    pipe = asyncio.subprocess.PIPE
    file = url.removeprefix("sqlite:///")
    other = await asyncio.create_subprocess_exec(sys.executable, "-c", _LOCK, file, stdin=pipe, stdout=pipe)
    assert other.stdin is not None
    assert other.stdout is not None
    assert await other.stdout.readline() == b"locked\n"
    try:
        yield
    finally:
        other.stdin.close()
        await other.wait()


@asynccontextmanager
async def _close(url: str) -> AsyncGenerator[None]:
    name = sql.Identifier(make_url(url).database or "")
    await administer(url, sql.SQL("ALTER DATABASE {} WITH ALLOW_CONNECTIONS false").format(name))
    await disconnect(url)
    try:
        yield
    finally:
        await administer(url, sql.SQL("ALTER DATABASE {} WITH ALLOW_CONNECTIONS true").format(name))


async def disconnect(url: str) -> None:
    """Have PostgreSQL end every connection to the database, as it does when it restarts."""
    name = sql.Literal(make_url(url).database)
    ended = sql.SQL("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = {}").format(name)
    await administer(url, ended)


async def administer(url: str, statement: sql.Composed) -> None:
    """Execute a statement in the server's administration database."""
    database = make_url(url).database
    elsewhere = url.replace(f"/{database}?", "/postgres?")

    def execute() -> None:
        with psycopg.connect(elsewhere, autocommit=True) as connection:
            connection.execute(statement)

    await asyncio.to_thread(execute)
