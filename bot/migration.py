"""Migrates the database at the start of a process, and explains why that failed."""

import asyncio
import sqlite3

import structlog
from sqlalchemy.exc import DBAPIError, OperationalError

import migrations
from domain.errors import ConfigurationError, DatabaseUnavailable
from memory.db.engine import Engine

log = structlog.get_logger(__name__)


async def migrate(engine: Engine) -> None:
    """Migrate the database to this version's schema.

    :raises ConfigurationError: if it belongs to another version, or is not a database.
    :raises DatabaseUnavailable: if it cannot be reached or written.
    """
    where = engine.url.set(drivername=engine.dialect.name).render_as_string(hide_password=True)
    try:
        pending = await asyncio.to_thread(migrations.count_pending, engine)
        if pending:
            log.info("migrating", migrations=pending, database=where)
        await asyncio.to_thread(migrations.upgrade, engine)
    except DatabaseUnavailable as error:
        why = error.message.splitlines()[0].rstrip(".")
        raise DatabaseUnavailable(
            f"FORGE_DATABASE_URL {where} cannot be used: {why}.",
            "Check the setting, that the database is there, and that Forge may write to it.",
        ) from None
    except DBAPIError as error:
        if not isinstance(error.orig, sqlite3.DatabaseError) or isinstance(error, OperationalError):
            raise
        raise ConfigurationError(
            f"FORGE_DATABASE_URL {where} cannot be used: {error.orig}.", "Name another file, or restore this one."
        ) from None
