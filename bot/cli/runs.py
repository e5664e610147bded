"""Shows runs and deliveries from the database."""

from collections.abc import Sequence
from typing import Annotated

import typer

from bot import current_database
from bot.cli.lookup import find_run
from bot.cli.output import print_lines, print_table
from bot.cli.process import command
from bot.current_database import open_database
from bot.settings import Installation
from domain.review.review import Review
from domain.runs.run import RunState
from domain.text.escaping import flatten_redacted, strip_invisible
from memory import ledger
from memory.db.engine import Database, sync_engine
from memory.db.tables.runs import RunRow
from memory.deliveries import deliveries as stored
from memory.deliveries.deliveries import Failure
from memory.runs import checkpoints
from memory.runs import runs as known
from memory.runs.outbox import list_trace
from messages.commands import describe_outcome
from pipeline.publishing.instructions import name_runs
from pipeline.verdicts.settings import find_mode

commands = typer.Typer(add_completion=False, rich_markup_mode=None)

_COLUMNS = ("run", "pull request", "head", "what", "outcome", "why", "created (UTC)")


@command(commands, "runs")
async def show_runs(
    settings: Installation,
    state: Annotated[RunState | None, typer.Option(help="Only runs in this state.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many at most.")] = 20,
    events: Annotated[
        str | None, typer.Option(metavar="RUN", help="List the events of this run: its id or its end.")
    ] = None,
) -> None:
    """List the latest runs, or the events of one."""
    async with open_database(settings) as database:
        if events is not None:
            await _show_events(database, events)
            return
        rows = await known.list_latest(database, limit, state)
        reviews = await checkpoints.load_reviews(database, [row.id for row in rows])
        named = await name_runs(database, [row.as_run() for row in rows])
        listed = [await _list_run(database, row, named[row.id], reviews.get(row.id)) for row in rows]
    if listed:
        print_table(_COLUMNS, listed)
    else:
        print_lines("Nothing has run yet.")


@command(commands, "deliveries")
async def show_deliveries(
    settings: Installation,
    failed: Annotated[
        bool, typer.Option("--failed", help="List the failed ones, newest first, each by its GUID.")
    ] = False,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="With --failed: how many at most.")] = 100,
) -> None:
    """Count deliveries by event, outcome and kind of reason."""
    async with open_database(settings) as database:
        if failed:
            print_lines(*map(_describe_failure, await stored.list_failures(database, limit)))
            return
        counts = sorted((await stored.count_outcomes(database)).items())
    print_table(("event", "outcome", "reason", "deliveries"), [(*key, str(number)) for key, number in counts])


async def migrate(settings: Installation) -> None:
    """Migrate the database to this version's schema."""
    engine = sync_engine(settings.database_url)
    try:
        await current_database.migrate(engine)
    finally:
        engine.dispose()
    print_lines("The database has this version's schema.")


async def _list_run(database: Database, row: RunRow, kind: str, review: Review | None) -> Sequence[str]:
    """The cells of a run's row, in the order of the columns.

    :param kind: what it does.
    """
    run = row.as_run()
    mode = await find_mode(database, run)
    return (
        run.id[-6:],
        f"{run.repository.full_name}#{run.number}",
        run.head_sha[:7],
        kind + (f" ({mode})" if mode else ""),
        describe_outcome(run, review),
        strip_invisible(run.detail)[:80],
        f"{row.created_at:%Y-%m-%d %H:%M}",
    )


async def _show_events(database: Database, run_id: str) -> None:
    """Show the events of a run and of those that belong to it."""
    found = await ledger.load_events(database, *await list_trace(database, await find_run(database, run_id)))
    print_table(
        ("run", "time", "type", "source", "seconds", "payload"),
        [
            (
                event.trace[-6:],
                f"{event.time:%H:%M:%S.%f}"[:-3],
                event.type.value,
                event.source,
                "" if event.duration is None else f"{event.duration:.2f}",
                " ".join(f"{key}={value}" for key, value in event.payload.items() if value not in (None, "")),
            )
            for event in found
        ],
    )


def _describe_failure(failed: Failure) -> str:
    """A line that begins with the GUID for `forge replay`."""
    what = flatten_redacted(f"{failed.event} {failed.action}")
    return f"{flatten_redacted(failed.guid)}  {failed.at:%Y-%m-%d %H:%M:%S}  {what}  {strip_invisible(failed.reason)}"
