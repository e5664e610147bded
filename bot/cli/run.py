"""Runs a command with the settings of the environment, and opens the database for it."""

import asyncio
import getpass
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import migrations
from bot import interrupts
from bot.logging import configure
from bot.settings import AnySettings, DoorSettings, Installation, Settings, load, load_door, load_installation
from domain.errors import ForgeError
from memory.db.engine import Database, sync_engine


def run(work: Callable[[Installation], Coroutine[Any, Any, None]]) -> None:
    """Run a command that needs only the database.

    :raises ConfigurationError: if a setting is wrong.
    """
    _run(load_installation, work)


def run_app(work: Callable[[Settings], Coroutine[Any, Any, None]]) -> None:
    """Run a command that needs all settings of the App.

    :raises ConfigurationError: if a setting is wrong.
    """
    _run(load, work)


def run_door(work: Callable[[DoorSettings], Coroutine[Any, Any, None]]) -> None:
    """Run a command that needs the settings of a process that only takes webhooks.

    :raises ConfigurationError: if a setting is wrong.
    """
    _run(load_door, work)


def _run(read: Callable[[], AnySettings], work: Callable[[AnySettings], Coroutine[Any, Any, None]]) -> None:
    settings = read()
    configure(settings.log_format)
    interrupts.raise_again()
    asyncio.run(work(settings))


@asynccontextmanager
async def open_database(settings: Installation) -> AsyncGenerator[Database]:
    """Open the database of these settings for one command.

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


def operator_name() -> str:
    """The account on this machine that runs the command; empty if it has no name, as in some containers."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return ""
