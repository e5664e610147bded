"""Opens the database for a command that looks into it or writes a line."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import migrations
from bot.settings import Installation
from domain.errors import ForgeError
from memory.db.engine import Database, sync_engine


class UnknownName(ForgeError):
    """What was asked for by its name is not in the database."""


@asynccontextmanager
async def open_database(settings: Installation) -> AsyncGenerator[Database]:
    """The database of these settings, as long as the command lasts.

    :raises ForgeError: if it has not this version's schema; a command that looks never migrates.
    """
    engine = sync_engine(settings.database_url)
    try:
        if not await asyncio.to_thread(migrations.is_current, engine):
            raise ForgeError("The database does not have this version's schema.", "Run `forge migrate` first.")
    finally:
        engine.dispose()
    database = Database(settings.database_url)
    try:
        yield database
    finally:
        await database.close()
