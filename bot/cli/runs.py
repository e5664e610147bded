"""What the command line shows from the database."""

from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table

from bot import app as process
from bot.cli.database import NotThere, opened
from bot.cli.output import output
from bot.clock import SystemClock
from bot.settings import Installation
from domain.errors import ForgeError
from domain.ids import new_id
from domain.runs.run import RunState
from domain.text.escaping import visible
from memory.db.engine import BUSY_SECONDS, Database, sync_engine
from memory.deliveries import deliveries as stored
from memory.deliveries.deliveries import Delivery
from memory.ledger import ledger
from memory.runs import runs as known
from pipeline.intake import Intake
from pipeline.worker import client


async def migrate(settings: Installation) -> None:
    """Bring our tables up to date."""
    engine = sync_engine(settings.database_url)
    try:
        await process.migrate(engine)
    finally:
        engine.dispose()
    Console().print("The database has this version's schema.")


async def runs(settings: Installation, state: RunState | None, limit: int, events_of: str | None) -> None:
    """Show the latest runs, or the events of one."""
    async with opened(settings) as database:
        if events_of is not None:
            await _events(database, events_of)
            return
        table = Table(Column("run", no_wrap=True), "pull request", "head", "state", "reason", "created", box=None)
        for row in await known.latest(database, limit, state):
            where = f"{row.owner}/{row.name}#{row.number}"
            reason = escape(f"{row.reason} {visible(row.detail)[:80]}".strip())
            table.add_row(row.id, where, row.head_sha[:7], row.state, reason, f"{row.created_at:%Y-%m-%d %H:%M:%S}")
        with output() as console:
            console.print(table)


async def deliveries(settings: Installation) -> None:
    """Show how many deliveries came, by event and outcome."""
    async with opened(settings) as database:
        table = Table("event", "outcome", "reason", "deliveries", box=None)
        for (event, outcome, reason), number in sorted((await stored.counts(database)).items()):
            table.add_row(escape(visible(event)), outcome, escape(visible(reason)), str(number))
        with output() as console:
            console.print(table)


async def failed_deliveries(settings: Installation, limit: int) -> None:
    """Show the deliveries that failed, one per line, its GUID first: `forge replay` takes it."""
    async with opened(settings) as database:
        found = await stored.failures(database, limit)
    with output() as console:
        for each in found:
            what = visible(f"{each.event} {each.action}".strip())
            line = f"{visible(each.guid)}  {each.at:%Y-%m-%d %H:%M:%S}  {what}  {visible(each.reason)}"
            console.print(line, markup=False, highlight=False, soft_wrap=True)


async def replay(settings: Installation, guid: str) -> None:
    """Queue the command of a delivery once more, as a delivery of its own.

    :raises NotThere: if there is no such delivery.
    :raises ForgeError: if it asked for nothing.
    """
    async with opened(settings) as database:
        row = await stored.find(database, guid)
    if row is None:
        raise NotThere(f"There is no delivery {guid}.", "GitHub's list of deliveries shows the GUIDs.")
    if row.command is None:
        raise ForgeError(f"Delivery {guid} was ignored ({row.reason}), so there is nothing to do again.")
    again = stored.again(guid, new_id())
    await _accept(settings, Delivery(again, row.event, row.action, SystemClock().now(), row.command, ""))
    Console().print(f"Queued again as {again}.", highlight=False, soft_wrap=True)


async def _accept(settings: Installation, delivery: Delivery) -> None:
    """Store a delivery and queue its work in one transaction, as the door does."""
    engine = sync_engine(settings.database_url)
    intake = Intake(engine, client(engine), BUSY_SECONDS)
    intake.start()
    try:
        await intake.accept(delivery)
    finally:
        await intake.stop()
        engine.dispose()


async def _events(database: Database, run_id: str) -> None:
    found = await ledger.replay(database, run_id)
    if not found and await known.get(database, run_id) is None:
        raise NotThere(f"There is no run {run_id}.", "`forge runs` lists the latest ones.")
    table = Table("time", "type", "source", "seconds", "payload", box=None)
    for event in found:
        seconds = "" if event.duration is None else f"{event.duration:.2f}"
        pairs = (f"{key}={value}" for key, value in event.payload.items() if value not in (None, ""))
        payload = escape(visible(" ".join(pairs)))
        table.add_row(f"{event.time:%H:%M:%S.%f}"[:-3], event.type, event.source, seconds, payload)
    with output() as console:
        console.print(table)
