"""`forge audit`: prints who decided what, and what was stopped, as text, JSON Lines or CSV."""

from collections.abc import Sequence
from typing import Annotated

import typer

from bot.cli.lookup import find_gate, find_repositories, find_run, parse_period
from bot.cli.output import output, print_lines
from bot.cli.process import command
from bot.clock import SystemClock
from bot.current_database import open_database
from bot.settings import Installation
from domain.errors import ForgeError, UnknownName
from domain.gates import STANDARD_GATES
from domain.text.escaping import flatten_redacted, strip_invisible
from memory.db.engine import Database
from memory.reports import audit
from memory.reports.audit import EventFilter
from messages import audit as texts
from messages.audit import AuditEntry, ExportForm, export_entry, export_head, format_duration
from safety.guards import Guard

commands = typer.Typer(add_completion=False, rich_markup_mode=None)

BREAKERS = ("iteration", "stagnation", "cost", "time", "error_rate", *(guard.value for guard in Guard))
DEFAULT_LIMIT = 200  # events printed as text without --limit


@command(commands, "audit")
async def show(
    settings: Installation,
    run: Annotated[
        str | None, typer.Option(metavar="ID", help="Only this run: its id or the last 6 characters.")
    ] = None,
    gate: Annotated[str | None, typer.Option(metavar="NAME|G-ID", help="Only gates of this name, or one gate.")] = None,
    breaker: Annotated[str | None, typer.Option(metavar="NAME", help="Only this breaker or guard.")] = None,
    since: Annotated[
        str | None, typer.Option(metavar="WHEN", help="From this time on: 2h, 7d, 2026-01-31T14:00.")
    ] = None,
    until: Annotated[str | None, typer.Option(metavar="WHEN", help="Before this time.")] = None,
    repository: Annotated[str | None, typer.Option(metavar="OWNER/NAME", help="Only this repository.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="At most this many, newest first; 200 as text.")] = None,
    as_jsonl: Annotated[bool, typer.Option("--jsonl", help="Export everything as JSON Lines.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Export everything as CSV.")] = False,
) -> None:
    """Show who decided what, and what was stopped and why.

    :raises ForgeError: if the options contradict each other or name something unknown.
    """
    if as_jsonl and as_csv:
        raise typer.BadParameter("Choose one of --jsonl and --csv.")
    start, end = parse_period(since, until, SystemClock().now())
    if sum(each is not None for each in (run, gate, breaker)) > 1:
        raise ForgeError("Choose one of --run, --gate and --breaker.")
    if breaker is not None and breaker not in BREAKERS:
        raise UnknownName(f"There is no breaker {strip_invisible(breaker)}.", f"Use {', '.join(BREAKERS)}.")
    async with open_database(settings) as database:
        wanted = EventFilter(
            None if run is None else await find_run(database, run),
            gate,
            None if gate is None else await _find_gate_id(database, gate),
            breaker,
            repositories=None if repository is None else await find_repositories(database, repository),
            since=start,
            until=end,
        )
        if as_jsonl or as_csv:
            await _export(database, wanted, limit, ExportForm.csv if as_csv else ExportForm.jsonl)
        else:
            _print_story(await audit.list_newest(database, wanted, limit or DEFAULT_LIMIT), limit or DEFAULT_LIMIT)


async def _find_gate_id(database: Database, gate: str) -> str | None:
    """The id of one gate; None if all of this name are meant."""
    if gate.startswith("G-"):
        return (await find_gate(database, gate)).id
    known = sorted({*STANDARD_GATES, *await audit.list_gate_names(database)})
    if gate not in known:
        raise UnknownName(f"There is no gate {strip_invisible(gate)}.", f"Use {', '.join(known)} or a G-… id.")
    return None


# --- text ---------------------------------------------------------------------------------------------------------


def _print_story(entries: Sequence[AuditEntry], limit: int) -> None:
    print_lines(*render_entries(entries))
    if not entries:
        print_lines("No event matches.")
    if len(entries) == limit:
        print_lines(f"Only the newest {limit} are shown; --limit, --since or an export shows more.")


def render_entries(entries: Sequence[AuditEntry]) -> list[str]:
    """One line for each event; below it, if known, who acted, why, and what they wrote."""
    return [line for entry in entries for line in _render_entry(entry)]


def _render_entry(entry: AuditEntry) -> list[str]:
    told = texts.describe_event(entry.event)
    place = f"{entry.repository}#{entry.number}" if entry.number is not None else entry.repository or "everywhere"
    run = f" …{entry.run[-6:]}" if entry.run else ""
    by = f"by {told.who}{f' ({told.how})' if told.how else ''}" if told.who else told.how and f"how: {told.how}"
    took = f"after {format_duration(entry.event.duration)}" if entry.event.duration is not None else ""
    details = [
        ", ".join(part for part in (by, took) if part),
        told.why and f"why: {told.why}",
        told.words and f"“{told.words}”",
    ]
    head = f"{entry.event.time:%Y-%m-%d %H:%M:%S}  {flatten_redacted(place + run)}  {flatten_redacted(told.what)}"
    return [head, *(f"{' ' * 21}{flatten_redacted(detail)}" for detail in details if detail)]


# --- exports ------------------------------------------------------------------------------------------------------


async def _export(database: Database, wanted: EventFilter, limit: int | None, form: ExportForm) -> None:
    with output() as console:
        console.file.write(export_head(form))
        if limit is not None:
            for entry in await audit.list_newest(database, wanted, limit):
                console.file.write(export_entry(entry, form))
            return
        async for entry in audit.stream_all(database, wanted):
            console.file.write(export_entry(entry, form))
