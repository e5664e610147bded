"""Opens the database of an installation, if it has this version's schema."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import migrations
from bot.settings import Installation
from domain.errors import ForgeError
from memory.db.engine import Database, sync_engine


@asynccontextmanager
async def open_database(settings: Installation) -> AsyncGenerator[Database]:
    """Open the database of these settings, for a command or a check.

    :raises ForgeError: if its schema is not this version's; only `forge migrate`, `serve` and `worker` migrate.
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
