"""Shows runs and deliveries from the database, and replays deliveries."""

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from bot import migration
from bot.cli.lookup import find_run
from bot.cli.output import output
from bot.cli.run_table import build_table, list_run
from bot.clock import SystemClock
from bot.current_database import open_database
from bot.settings import Installation
from domain.errors import ForgeError, UnknownName
from domain.ids import new_id
from domain.runs.run import RunState
from domain.text.escaping import strip_invisible
from memory.db.engine import BUSY_SECONDS, Database, sync_engine
from memory.deliveries import deliveries as stored
from memory.deliveries.deliveries import ReceivedDelivery
from memory.ledger import ledger
from memory.runs import checkpoints
from memory.runs import runs as known
from memory.runs.traces import list_trace
from pipeline.deliveries.intake import Intake
from pipeline.worker.queues import build_client


async def migrate(settings: Installation) -> None:
    """Migrate the database to this version's schema."""
    engine = sync_engine(settings.database_url)
    try:
        await migration.migrate(engine)
    finally:
        engine.dispose()
    Console().print("The database has this version's schema.")


async def show_runs(settings: Installation, state: RunState | None, limit: int, events_of: str | None) -> None:
    """Show the latest runs, or the events of one and of those that belong to it."""
    async with open_database(settings) as database:
        if events_of is not None:
            await _show_events(database, events_of)
            return
        rows = await known.list_latest(database, limit, state)
        reviews = await checkpoints.load_reviews(database, [row.id for row in rows])
        listed = [await list_run(database, row, reviews.get(row.id)) for row in rows]
    with output() as console:
        console.print(build_table(listed) if listed else "Nothing has run yet.")


async def show_deliveries(settings: Installation) -> None:
    """Show how many deliveries came, by event and outcome."""
    async with open_database(settings) as database:
        table = Table("event", "outcome", "reason", "deliveries", box=None)
        for (event, outcome, reason), number in sorted((await stored.count_outcomes(database)).items()):
            table.add_row(escape(strip_invisible(event)), outcome, escape(strip_invisible(reason)), str(number))
        with output() as console:
            console.print(table)


async def show_failed(settings: Installation, limit: int) -> None:
    """Show the failed deliveries, one per line, each beginning with the GUID for `forge replay`."""
    async with open_database(settings) as database:
        found = await stored.list_failures(database, limit)
    with output() as console:
        for each in found:
            what = strip_invisible(f"{each.event} {each.action}".strip())
            line = f"{strip_invisible(each.guid)}  {each.at:%Y-%m-%d %H:%M:%S}  {what}  {strip_invisible(each.reason)}"
            console.print(line, markup=False, highlight=False, soft_wrap=True)


async def replay(settings: Installation, guid: str) -> None:
    """Queue the command of a delivery again, as a new delivery.

    :raises UnknownName: if there is no such delivery.
    :raises ForgeError: if it asked for nothing.
    """
    async with open_database(settings) as database:
        row = await stored.find(database, guid)
    if row is None:
        raise UnknownName(f"There is no delivery {guid}.", "GitHub's list of deliveries shows the GUIDs.")
    if row.command is None:
        raise ForgeError(f"Delivery {guid} was ignored ({row.reason}), so there is nothing to repeat.")
    again = stored.build_replay_guid(guid, new_id())
    await _accept(settings, ReceivedDelivery(again, row.event, row.action, SystemClock().now(), row.command, ""))
    Console().print(f"Queued again as {again}.", highlight=False, soft_wrap=True)


async def _accept(settings: Installation, delivery: ReceivedDelivery) -> None:
    """Store a delivery and queue its work in one transaction, as the webhook endpoint does."""
    engine = sync_engine(settings.database_url)
    intake = Intake(engine, build_client(engine), BUSY_SECONDS)
    intake.start()
    try:
        await intake.accept(delivery)
    finally:
        await intake.stop()
        engine.dispose()


async def _show_events(database: Database, run_id: str) -> None:
    found = await ledger.load_events(database, *await list_trace(database, await find_run(database, run_id)))
    table = Table("run", "time", "type", "source", "seconds", "payload", box=None)
    for event in found:
        seconds = "" if event.duration is None else f"{event.duration:.2f}"
        pairs = (f"{key}={value}" for key, value in event.payload.items() if value not in (None, ""))
        payload = escape(strip_invisible(" ".join(pairs)))
        table.add_row(event.trace[-6:], f"{event.time:%H:%M:%S.%f}"[:-3], event.type, event.source, seconds, payload)
    with output() as console:
        console.print(table)
