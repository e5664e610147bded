"""The command line for operators and developers. People decide on GitHub, never here."""

import asyncio
import gc
import os
import signal
import sys
from pathlib import Path
from typing import Annotated, Any

import structlog
import typer
from rich.console import Console
from rich.markup import escape
from typer.core import TyperGroup

from bot import app as process
from bot import server
from bot.cli import audit as auditing
from bot.cli import config_check, memory
from bot.cli import costs as spending
from bot.cli import gates as asking
from bot.cli import halt as halting
from bot.cli import metrics as feedback
from bot.cli import review as local
from bot.cli import runs as listing
from bot.cli.doctor import doctor as examination
from bot.cli.output import guard_output, output
from bot.cli.run import UnknownName, run_app
from bot.cli.run import run as _run
from bot.logging import configure, print_uncaught
from bot.settings import Settings
from bot.version import VERSION
from domain.errors import ForgeError
from domain.gates import GateState
from domain.review.review import Decision
from domain.runs.run import RunState
from domain.text.escaping import strip_invisible
from memory.reports.costs import GroupBy
from messages.config import PATH
from pipeline.worker.engine import WorkflowEngine

log = structlog.get_logger(__name__)


class _Forge(TyperGroup):
    """The commands; removes pydantic's prefix from the error messages that typer passes on."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            error.message = error.message.removeprefix("Value error, ")
            raise


_HERE, _SERVE, _LOOK, _STEP_IN = "Without GitHub", "Serve", "Inspect", "Intervene"  # panels of the help
cli = typer.Typer(cls=_Forge, no_args_is_help=True)
gates = typer.Typer(add_completion=False)
cli.add_typer(gates, name="gates", rich_help_panel=_LOOK)
cli.add_typer(memory.commands, name="memory", rich_help_panel=_LOOK)
configuration = typer.Typer(no_args_is_help=True, add_completion=False, help="Look at a configuration file.")
cli.add_typer(configuration, name="config", rich_help_panel=_HERE)
errors = Console(stderr=True)
_EXIT_CODES = {Decision.approve: 0, Decision.request_changes: 1, Decision.require_human: 3, Decision.unread: 4}


def main() -> None:
    """Run the command; an error becomes one message and exit code 2, or 1 if something named does not exist."""
    try:
        with guard_output():
            cli()
    except ForgeError as error:
        errors.print(f"[bold red]forge:[/] {escape(strip_invisible(str(error)))}", highlight=False, soft_wrap=True)
        sys.exit(1 if isinstance(error, UnknownName) else 2)
    except Exception as error:
        print_uncaught(type(error), error, error.__traceback__)
        errors.print("[bold red]forge:[/] Forge made a mistake of its own; please report it with the lines above.")
        sys.exit(2)


def _version(wanted: bool) -> None:
    if wanted:
        with output() as console:
            console.out(f"forge {VERSION}", highlight=False)
        raise typer.Exit


@cli.callback(help="Forge reviews pull requests on GitHub.")
def options(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_version, help="Print the version.")
    ] = False,
) -> None:
    """The options before a command."""


@cli.command(rich_help_panel=_SERVE)
def serve() -> None:
    """Accept webhooks and do the work."""
    run_app(_serve)


@cli.command(rich_help_panel=_SERVE)
def worker() -> None:
    """Do work only, without webhooks, beside other processes on the same database. Serves health and metrics, too."""
    run_app(_work)


@cli.command(rich_help_panel=_SERVE)
def migrate() -> None:
    """Migrate the database to this version's schema. `serve` and `worker` do so when they start."""
    _run(listing.migrate)


@cli.command(rich_help_panel=_SERVE)
def doctor(
    ask: Annotated[bool, typer.Option("--ask", help="Also ask the models, for a few tokens.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", help="List the attacks on the sandbox.")] = False,
) -> None:
    """Check settings, database, GitHub, webhook, models, clock, tools and sandbox.

    Exit codes: 0 Forge can work here, 1 it cannot because of what is marked ✗.
    """
    configure("console", level=40)
    healthy = asyncio.run(examination.examine(Console(), ask=ask, verbose=verbose))
    raise typer.Exit(0 if healthy else 1)


@cli.command(rich_help_panel=_LOOK)
def runs(
    state: Annotated[RunState | None, typer.Option(help="Only runs in this state.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many at most.")] = 20,
    events: Annotated[str | None, typer.Option(metavar="RUN", help="List the events of this run.")] = None,
) -> None:
    """List the latest runs, or the events of one."""
    _run(lambda settings: listing.show_runs(settings, state, limit, events))


@cli.command(rich_help_panel=_LOOK)
def deliveries(
    failed: Annotated[
        bool, typer.Option("--failed", help="List the failed ones, newest first, each by its GUID.")
    ] = False,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="With --failed: how many at most.")] = 100,
) -> None:
    """Count deliveries by event, outcome and kind of reason."""
    _run(lambda settings: listing.show_failed(settings, limit) if failed else listing.show_deliveries(settings))


@cli.command(rich_help_panel=_STEP_IN)
def replay(guid: Annotated[str, typer.Argument(help="The delivery's X-GitHub-Delivery header.")]) -> None:
    """Repeat what a delivery asked for; posts nothing twice. `forge deliveries` counts it as a new one."""
    _run(lambda settings: listing.replay(settings, guid))


@cli.command(rich_help_panel=_LOOK)
def audit(
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
    """Show who decided what, and what was stopped and why."""
    if as_jsonl and as_csv:
        raise typer.BadParameter("Choose one of --jsonl and --csv.")
    asked = auditing.AuditOptions(run, gate, breaker, since, until, repository, limit)
    form = "jsonl" if as_jsonl else "csv" if as_csv else "story"
    _run(lambda settings: auditing.show(settings, asked, form))


@cli.command(rich_help_panel=_LOOK)
def costs(
    by: Annotated[GroupBy | None, typer.Option(help="Only this grouping; else all, and today's budgets.")] = None,
    run: Annotated[
        str | None, typer.Option(metavar="ID", help="Only this run: its id or the last 6 characters.")
    ] = None,
    repository: Annotated[str | None, typer.Option(metavar="OWNER/NAME", help="Only this repository.")] = None,
    since: Annotated[
        str | None, typer.Option(metavar="WHEN", help="From this time on: 2h, 7d, 2026-01-31T14:00.")
    ] = None,
    until: Annotated[str | None, typer.Option(metavar="WHEN", help="Before this time.")] = None,
) -> None:
    """Sum up what models cost, by phase, model, repository and day (UTC)."""
    _run(lambda settings: spending.show(settings, spending.CostOptions(by, run, repository, since, until)))


@cli.command(rich_help_panel=_LOOK)
def metrics(
    repository: Annotated[str | None, typer.Option(metavar="OWNER/NAME", help="Only this repository.")] = None,
    weeks: Annotated[int, typer.Option(min=1, max=52, help="How many weeks.")] = 12,
    as_json: Annotated[bool, typer.Option("--json", help="Print every week as JSON.")] = False,
) -> None:
    """Show how well Forge does week by week: success, cost, iterations, dismissals and overrides."""
    _run(lambda settings: feedback.show(settings, repository, weeks, as_json=as_json))


@gates.callback(invoke_without_command=True)
def list_gates(
    context: typer.Context,
    state: Annotated[GateState | None, typer.Option(help="Only gates in this state.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many at most.")] = 20,
) -> None:
    """List the latest gates, waiting ones first. People decide them on GitHub."""
    if context.invoked_subcommand is None:
        _run(lambda settings: asking.show_all(settings, state, limit))


@gates.command("show")
def show_gate(gate: Annotated[str, typer.Argument(metavar="G-ID", help="As `forge gates` lists it.")]) -> None:
    """Show a gate's question, its reasons, the possible answers, and the answer given."""
    _run(lambda settings: asking.show_one(settings, gate))


@cli.command(rich_help_panel=_STEP_IN)
def halt(why: Annotated[str, typer.Argument(help="The reason; it is shown and recorded.")] = "") -> None:
    """Stop everything now: Forge calls no model and writes nothing to GitHub. It stores webhooks for later."""
    _run(lambda settings: halting.halt(settings, why))


@cli.command(rich_help_panel=_STEP_IN)
def resume() -> None:
    """Continue everything that `forge halt` stopped."""
    _run(halting.resume)


@cli.command(rich_help_panel=_HERE)
def review(
    path: Annotated[Path, typer.Argument(help="A folder in the repository.")] = Path(),
    base: Annotated[
        str | None, typer.Option(help="The revision to compare with.", show_default="origin/HEAD, main or master")
    ] = None,
    staged: Annotated[bool, typer.Option("--staged", help="Review what is staged, compared with HEAD.")] = False,
    fix: Annotated[bool, typer.Option("--fix", help="Correct formatting and simple lint in the working tree.")] = False,
    unread_ok: Annotated[
        bool, typer.Option("--unread-ok", help="Exit with 0 instead of 4, as the pre-commit hook does.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole review as JSON.")] = False,
    as_sarif: Annotated[bool, typer.Option("--sarif", help="Print the findings as SARIF 2.1.0.")] = False,
) -> None:
    """Review a local repository against a revision, like a pull request.

    Prints one line per finding if the output is not a terminal. Exit codes: 0 approve, 1 changes requested, 2 wrong
    input or an error, 3 a person should look, 4 nothing found but some source was not read, 130 interrupted, 141 the
    reader of the output stopped before its end.
    """
    if as_json and as_sarif:
        raise typer.BadParameter("Choose one of --json and --sarif.")
    shown = "json" if as_json else "sarif" if as_sarif else "text"
    configure("console", level=40)
    decision = asyncio.run(local.run(path, base, shown, staged=staged, fix=fix))
    raise typer.Exit(0 if unread_ok and decision is Decision.unread else _EXIT_CODES[decision])


@configuration.command("check")
def check_configuration(
    file: Annotated[Path, typer.Argument(help="The configuration file.")] = Path(PATH),
) -> None:
    """Show what `Forge / config` would say about a file, before it is pushed.

    Exit codes: 0 valid, 1 mistakes, 2 it cannot be read.
    """
    raise typer.Exit(0 if config_check.check(file) else 1)


@cli.command(rich_help_panel=_HERE)
def demo(
    stay: Annotated[bool, typer.Option("--stay", help="Keep the simulated GitHub running for a browser.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", help="Show every comment, review and check in full.")] = False,
) -> None:
    """Show a review from end to end on this machine, without an account or a key."""
    from bot import demo as show  # imported here, because only the demo needs the simulated GitHub

    configure("console", level=40)
    console = Console()
    details = console if verbose else None
    raise typer.Exit(asyncio.run(show.run(console, _stop_signal if stay else None, details=details)))


async def _serve(settings: Settings) -> None:
    stopped = _stop_signal()
    async with process.forge(settings) as running, server.serve(running) as port:
        _warn_unusable(running)
        log.info("serving", version=VERSION, host=settings.host, port=port, pid=os.getpid())
        await _wait_for_end(stopped, running.workflows)


async def _work(settings: Settings) -> None:
    stopped = _stop_signal()
    async with process.forge(settings, door=False) as running, server.serve(running) as port:
        _warn_unusable(running)
        log.info("working", version=VERSION, executor=settings.slot, host=settings.host, port=port, pid=os.getpid())
        await _wait_for_end(stopped, running.workflows)


def _warn_unusable(running: process.Forge) -> None:
    for each in running.services.models.list_unusable():
        log.warning("model.unusable", why=each.reason, advice=each.advice)


async def _wait_for_end(stopped: asyncio.Event, workflows: WorkflowEngine) -> None:
    """Wait for the signal to stop; exit at once if another process may have taken over this one's work."""
    gc.collect()
    gc.freeze()  # a collection pauses the process, so do not scan lasting objects again
    waiting = [asyncio.create_task(event.wait()) for event in (stopped, workflows.displaced)]
    await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    for task in waiting:
        task.cancel()
    if workflows.displaced.is_set() and not stopped.is_set():
        log.error("displaced", why="The lease ran out, so another process may have taken over. Start this one again.")
        os._exit(os.EX_TEMPFAIL)
    log.info("stopping")


def _stop_signal() -> asyncio.Event:
    """An event that the first SIGTERM or SIGINT sets."""
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    return stopped


if __name__ == "__main__":
    main()
