"""What the command line shows from the database."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from rich.console import Console
from rich.markup import escape
from rich.table import Table

import migrations
from bot.settings import Settings
from domain.errors import ForgeError
from domain.ids import new_id
from domain.neutral import visible
from domain.runs import RunState
from memory import deliveries as stored
from memory import ledger
from memory import runs as known
from memory.database import Database, sync_engine
from pipeline.engine import client
from pipeline.names import APP_VERSION, DELIVERIES, DELIVERY


async def migrate(settings: Settings) -> None:
    """Bring our tables up to date."""
    engine = sync_engine(settings.database_url)
    await asyncio.to_thread(migrations.upgrade, engine)
    engine.dispose()
    Console().print("The database has this version's schema.")


async def runs(settings: Settings, state: RunState | None, limit: int, events_of: str | None) -> None:
    """Show the latest runs, or the events of one."""
    async with _database(settings) as database:
        if events_of is not None:
            await _events(database, events_of)
            return
        table = Table("run", "pull request", "head", "state", "reason", "created", box=None)
        for row in await known.latest(database, limit, state):
            where = f"{row.owner}/{row.name}#{row.number}"
            reason = escape(f"{row.reason} {visible(row.detail)[:80]}".strip())
            table.add_row(row.id, where, row.head_sha[:7], row.state, reason, f"{row.created_at:%Y-%m-%d %H:%M:%S}")
        Console().print(table)


async def deliveries(settings: Settings) -> None:
    """Show how many deliveries came, by event and outcome."""
    async with _database(settings) as database:
        table = Table("event", "outcome", "reason", "deliveries", box=None)
        for (event, outcome, reason), number in sorted((await stored.counts(database)).items()):
            table.add_row(escape(visible(event)), outcome, escape(visible(reason)), str(number))
        Console().print(table)


async def replay(settings: Settings, guid: str) -> None:
    """Queue the command of a delivery once more.

    :raises ForgeError: if there is no such delivery or it asked for nothing.
    """
    async with _database(settings) as database:
        row = await stored.find(database, guid)
        if row is None:
            raise ForgeError(f"There is no delivery {guid}.", "GitHub's list of deliveries shows the GUIDs.")
        if row.command is None:
            raise ForgeError(f"Delivery {guid} was ignored ({row.reason}), so there is nothing to do again.")
        engine = sync_engine(settings.database_url)
        again = f"{guid}/{new_id()}"
        await asyncio.to_thread(
            client(engine).enqueue,
            {
                "workflow_name": DELIVERY,
                "queue_name": DELIVERIES,
                "workflow_id": again,
                "app_version": APP_VERSION,
            },
            again,
            guid,
        )
        engine.dispose()
        Console().print(f"Queued again as {again}.")


async def _events(database: Database, run_id: str) -> None:
    table = Table("time", "type", "source", "seconds", "payload", box=None)
    for event in await ledger.replay(database, run_id):
        seconds = "" if event.duration is None else f"{event.duration:.2f}"
        pairs = (f"{key}={value}" for key, value in event.payload.items() if value not in (None, ""))
        payload = escape(visible(" ".join(pairs)))
        table.add_row(f"{event.time:%H:%M:%S.%f}"[:-3], event.type, event.source, seconds, payload)
    Console().print(table)


@asynccontextmanager
async def _database(settings: Settings) -> AsyncGenerator[Database]:
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
