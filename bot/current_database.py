"""Opens the database of an installation with this version's schema; migrates it at a start, or says why not."""

import asyncio
import contextlib
import sqlite3
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import structlog
from sqlalchemy.exc import DBAPIError

import migrations
from bot.settings import Installation
from domain.errors import ConfigurationError, DatabaseUnavailable, ForgeError
from memory.db.engine import Database, Engine, sync_engine


@asynccontextmanager
async def open_database(settings: Installation) -> AsyncGenerator[Database]:
    """Open the database of these settings, for a command or a check.

    :raises ForgeError: if its schema is not this version's; only `forge migrate`, `serve` and `worker` migrate.
    :raises ConfigurationError: if it is a file that is damaged, or not a database.
    """
    engine = sync_engine(settings.database_url)
    try:
        if not await asyncio.to_thread(migrations.is_current, engine):
            raise ForgeError("The database does not have this version's schema.", "Run `forge migrate` first.")
        async with _open_current(settings.database_url) as database:
            yield database
    except DBAPIError as error:
        _refuse_damaged(error, engine)
        raise
    finally:
        engine.dispose()


@asynccontextmanager
async def _open_current(url: str) -> AsyncGenerator[Database]:
    database = Database(url)
    try:
        yield database
    finally:
        await database.close()


log = structlog.get_logger(__name__)


async def migrate(engine: Engine) -> None:
    """Migrate the database to this version's schema.

    :raises ConfigurationError: if it belongs to another version, or is not a database.
    :raises DatabaseUnavailable: if it cannot be reached or written.
    """
    where = _name(engine)
    try:
        pending = await asyncio.to_thread(migrations.count_pending, engine)
        if pending:
            log.info("migrating", migrations=pending, database=where)
            await _upgrade_apart(engine)
        await asyncio.to_thread(migrations.upgrade, engine)  # says why, if that did not work
    except DatabaseUnavailable as error:
        why = error.message.splitlines()[0].rstrip(".")
        raise DatabaseUnavailable(
            f"FORGE_DATABASE_URL {where} cannot be used: {why}.",
            "Check the setting, that the database is there, and that Forge may write to it.",
        ) from None
    except DBAPIError as error:
        _refuse_damaged(error, engine)
        raise


_DAMAGES = {sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT}


def _refuse_damaged(error: DBAPIError, engine: Engine) -> None:
    """:raises ConfigurationError: the error is about a file that is damaged, or not a database."""
    if getattr(error.orig, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF in _DAMAGES:
        raise ConfigurationError(
            f"FORGE_DATABASE_URL {_name(engine)} cannot be used: {error.orig}.",
            "Name another file, or restore this one.",
        ) from None


def _name(engine: Engine) -> str:
    return engine.url.set(drivername=engine.dialect.name).render_as_string(hide_password=True)


async def _upgrade_apart(engine: Engine) -> None:
    """Migrate in a process of its own, which takes with it what only that needs: 12 MB of 215."""
    url = engine.url.set(drivername=engine.dialect.name).render_as_string(hide_password=False)
    command = (sys.executable, "-m", "migrations")
    quiet = asyncio.subprocess.DEVNULL
    with contextlib.suppress(OSError):
        child = await asyncio.create_subprocess_exec(
            *command, stdin=asyncio.subprocess.PIPE, stdout=quiet, stderr=quiet
        )
        await child.communicate(url.encode())


def require_shared_database(url: str, what: str) -> None:
    """:param url: of the database.
    :param what: is of use with several processes only.
    :raises ConfigurationError: the database is a file, which has no fair order among the writers of several processes.
    """
    if url.startswith("sqlite"):
        raise ConfigurationError(
            f"FORGE_DATABASE_URL is SQLite, and {what} needs PostgreSQL: several processes write, and with SQLite a "
            "webhook could wait for another process's writes longer than GitHub waits for the answer.",
            "Set FORGE_DATABASE_URL to postgresql://…, or start one `forge serve` alone.",
        )
