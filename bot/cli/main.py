"""The command line for operators and developers. People decide on GitHub, never here.

Each command imports what it needs itself, so that `forge review` and `forge config check`, which people run before
every commit, start without the server.
"""

import asyncio
import importlib
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from typer.core import TyperGroup

from bot import interrupts
from bot.cli.output import guard_output, output
from bot.logging import configure, print_uncaught
from bot.version import VERSION
from domain.errors import ForgeError, UnknownName
from domain.gates import GateState
from domain.money import GroupBy
from domain.review.review import Decision
from domain.runs.run import RunState
from domain.text.escaping import strip_invisible
from messages.config import PATH


class _Forge(TyperGroup):
    """The commands; imports some groups only when they are called, and strips pydantic's prefix from typer's errors."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in _LATE:
            return super().get_command(ctx, cmd_name)
        module = importlib.import_module(f"bot.cli.{cmd_name}")
        command = typer.main.get_command(module.commands)
        command.name = cmd_name
        command.rich_help_panel = _LOOK  # pyright: ignore[reportAttributeAccessIssue]
        return command

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            error.message = error.message.removeprefix("Value error, ")
            raise


_HERE, _SERVE, _LOOK, _STEP_IN = "Without GitHub", "Serve", "Inspect", "Intervene"  # panels of the help
_LATE = ("memory", "feedback")  # groups in modules of their own
cli = typer.Typer(cls=_Forge, no_args_is_help=True)
gates = typer.Typer(add_completion=False)
cli.add_typer(gates, name="gates", rich_help_panel=_LOOK)
for _name in _LATE:
    cli.add_typer(typer.Typer(), name=_name)  # its name only
configuration = typer.Typer(no_args_is_help=True, add_completion=False, help="Look at a configuration file.")
cli.add_typer(configuration, name="config", rich_help_panel=_HERE)
errors = Console(stderr=True)
EXIT_CODES = {Decision.approve: 0, Decision.request_changes: 1, Decision.require_human: 3, Decision.unread: 4}


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
def serve(
    workers: Annotated[
        int, typer.Option(min=0, max=64, help="Processes that do work beside this one, and end with it.")
    ] = 0,
) -> None:
    """Accept webhooks and do the work. Without a GitHub App, first show a page that sets one up, as `setup` does."""
    from bot.cli import serve as serving
    from bot.cli import setup as first_run
    from bot.cli.run import run_app

    if first_run.complete():
        run_app(lambda settings: serving.serve(settings, workers))


@cli.command(rich_help_panel=_SERVE)
def setup(
    manual: Annotated[bool, typer.Option("--manual", help="Say how to create the GitHub App by hand.")] = False,
    rotate: Annotated[
        bool, typer.Option("--rotate-key", help="Encrypt what is stored with a new key (FORGE_CREDENTIALS_KEY_PATH).")
    ] = False,
    stored: Annotated[
        str | None,
        typer.Option("--store", metavar="NAME", help="Store a setting, its value from standard input; empty: remove."),
    ] = None,
) -> None:
    """Set Forge up in a browser: register the GitHub App, check a model's key, and everything else."""
    from bot.cli import setup as first_run

    if sum((manual, rotate, stored is not None)) > 1:
        raise typer.BadParameter("Choose one of --manual, --rotate-key and --store.")
    if manual:
        first_run.print_manual()
    elif rotate:
        first_run.rotate_key()
    elif stored is not None:
        first_run.store(stored)
    else:
        first_run.run_alone()


@cli.command(rich_help_panel=_SERVE)
def worker(attached: Annotated[bool, typer.Option("--attached", hidden=True)] = False) -> None:
    """Do work only, without webhooks, beside other processes on the same database. Serves health and metrics, too."""
    from bot.cli import serve as serving
    from bot.cli.run import run_app

    run_app(lambda settings: serving.work(settings, is_attached=attached))


@cli.command(rich_help_panel=_SERVE)
def door() -> None:
    """Take webhooks only, and store them for the workers. Needs the App's secret, not its key. Serves health, too."""
    from bot.cli import door as opening
    from bot.cli.run import run_door

    run_door(opening.serve)


@cli.command(rich_help_panel=_SERVE)
def migrate() -> None:
    """Migrate the database to this version's schema. `serve` and `worker` do so when they start."""
    from bot.cli import runs as listing
    from bot.cli.run import run

    run(listing.migrate)


@cli.command(rich_help_panel=_SERVE)
def doctor(
    ask: Annotated[bool, typer.Option("--ask", help="Also ask the models, for a few tokens.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", help="List the attacks on the sandbox.")] = False,
) -> None:
    """Check settings, database, GitHub, webhook, models, clock, tools and sandbox.

    Exit codes: 0 Forge can work here, 1 it cannot because of what is marked ✗.
    """
    from bot.cli.doctor import doctor as examination

    configure("console", level=40)
    interrupts.raise_again()
    healthy = asyncio.run(examination.examine(Console(), ask=ask, verbose=verbose))
    raise typer.Exit(0 if healthy else 1)


@cli.command(rich_help_panel=_LOOK)
def runs(
    state: Annotated[RunState | None, typer.Option(help="Only runs in this state.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many at most.")] = 20,
    events: Annotated[str | None, typer.Option(metavar="RUN", help="List the events of this run.")] = None,
    timeline: Annotated[
        str | None,
        typer.Option("--checkpoints", metavar="RUN", help="List what this run's agents kept: its id or its end."),
    ] = None,
    checkpoint: Annotated[
        str | None, typer.Option(metavar="C-ID", help="Show a checkpoint, and its diff since the base.")
    ] = None,
    since: Annotated[
        str | None, typer.Option(metavar="C-ID", help="With --checkpoint: the diff since this one.")
    ] = None,
    page: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="With --checkpoints or --checkpoint: write that as a page of HTML."),
    ] = None,
    rollback: Annotated[
        str | None, typer.Option(metavar="C-ID", help="Take the work back to a checkpoint, as `/forge rollback` does.")
    ] = None,
    file: Annotated[
        list[str] | None, typer.Option(metavar="PATH", help="With --rollback: only this file; may be repeated.")
    ] = None,
) -> None:
    """List the latest runs, the events of one, or what its agents kept of their work."""
    from bot.cli import checkpoints
    from bot.cli import runs as listing
    from bot.cli.run import run

    if sum(each is not None for each in (events, timeline, checkpoint, rollback)) > 1:
        raise typer.BadParameter("Choose one of --events, --checkpoints, --checkpoint and --rollback.")
    if since is not None and checkpoint is None:
        raise typer.BadParameter("--since needs --checkpoint.")
    if file and rollback is None:
        raise typer.BadParameter("--file needs --rollback.")
    if page is not None:
        _write_page(page, timeline, checkpoint, since)
    elif timeline is not None:
        run(lambda settings: checkpoints.show_timeline(settings, timeline))
    elif checkpoint is not None:
        run(lambda settings: checkpoints.show_one(settings, checkpoint, since))
    elif rollback is not None:
        run(lambda settings: checkpoints.roll_back(settings, rollback, file or ()))
    else:
        run(lambda settings: listing.show_runs(settings, state, limit, events))


def _write_page(page: Path, timeline: str | None, checkpoint: str | None, since: str | None) -> None:
    from bot.cli import checkpoints_page
    from bot.cli.run import run

    if timeline is not None:
        run(lambda settings: checkpoints_page.write_timeline(settings, timeline, page))
    elif checkpoint is not None:
        run(lambda settings: checkpoints_page.write_one(settings, checkpoint, since, page))
    else:
        raise typer.BadParameter("--page needs --checkpoints or --checkpoint.")


@cli.command(rich_help_panel=_LOOK)
def deliveries(
    failed: Annotated[
        bool, typer.Option("--failed", help="List the failed ones, newest first, each by its GUID.")
    ] = False,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="With --failed: how many at most.")] = 100,
) -> None:
    """Count deliveries by event, outcome and kind of reason."""
    from bot.cli import runs as listing
    from bot.cli.run import run

    run(lambda settings: listing.show_failed(settings, limit) if failed else listing.show_deliveries(settings))


@cli.command(rich_help_panel=_STEP_IN)
def replay(guid: Annotated[str, typer.Argument(help="The delivery's X-GitHub-Delivery header.")]) -> None:
    """Repeat what a delivery asked for; posts nothing twice. `forge deliveries` counts it as a new one."""
    from bot.cli import runs as listing
    from bot.cli.run import run

    run(lambda settings: listing.replay(settings, guid))


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
    from bot.cli import audit as auditing
    from bot.cli.run import run as run_command

    if as_jsonl and as_csv:
        raise typer.BadParameter("Choose one of --jsonl and --csv.")
    asked = auditing.AuditOptions(run, gate, breaker, since, until, repository, limit)
    form = "jsonl" if as_jsonl else "csv" if as_csv else "story"
    run_command(lambda settings: auditing.show(settings, asked, form))


@cli.command(rich_help_panel=_LOOK)
def deployments(
    shown: Annotated[
        str | None, typer.Argument(metavar="[D-ID]", help="Show this one, with steps and figures.")
    ] = None,
    repository: Annotated[str | None, typer.Option(metavar="OWNER/NAME", help="Only this repository.")] = None,
    environment: Annotated[str | None, typer.Option(metavar="ENV", help="Only this environment.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many at most.")] = 20,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the latest deployments, or show one."""
    from bot.cli import deployments as deploying
    from bot.cli.run import run

    if shown is not None:
        run(lambda settings: deploying.show_one(settings, shown, as_json=as_json))
    else:
        run(lambda settings: deploying.show_all(settings, repository, environment, limit, as_json=as_json))


@cli.command(rich_help_panel=_LOOK)
def notices(
    failed: Annotated[bool, typer.Option("--failed", help="Only those that reached nobody.")] = False,
    repository: Annotated[
        str | None, typer.Option(metavar="OWNER/NAME", help="Only this repository; or whose address it is.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many at most.")] = 20,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    test: Annotated[
        str | None, typer.Option(metavar="TARGET", help="Send a test there: a name, or an address and --repository.")
    ] = None,
    secret: Annotated[
        str | None, typer.Option(metavar="TARGET", help="Print the secret by which its receiver knows Forge.")
    ] = None,
) -> None:
    """List whom Forge told of gates, budgets, levels and failures, and which targets fail; or try one."""
    from bot.cli import notice_targets as reaching
    from bot.cli import notices as telling
    from bot.cli.run import run, run_app

    if test is not None and secret is not None:
        raise typer.BadParameter("Choose one of --test and --secret.")
    if test is not None:
        run_app(lambda settings: reaching.try_target(settings, test, repository))
    elif secret is not None:
        run_app(lambda settings: reaching.print_secret(settings, secret, repository))
    else:
        run(lambda settings: telling.show_all(settings, repository, limit, failed=failed, as_json=as_json))


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
    from bot.cli import costs as spending
    from bot.cli.run import run as run_command

    run_command(lambda settings: spending.show(settings, spending.CostOptions(by, run, repository, since, until)))


@cli.command(rich_help_panel=_LOOK)
def metrics(
    repository: Annotated[str | None, typer.Option(metavar="OWNER/NAME", help="Only this repository.")] = None,
    weeks: Annotated[int, typer.Option(min=1, max=52, help="How many weeks.")] = 12,
    as_json: Annotated[bool, typer.Option("--json", help="Print every week as JSON.")] = False,
    detectors: Annotated[
        bool, typer.Option(help="Show how often each detector of giving up was wrong, and what may pass here.")
    ] = False,
) -> None:
    """Show how well Forge does week by week: success, cost, iterations, dismissals and overrides."""
    from bot.cli import detectors as detecting
    from bot.cli import metrics as feedback
    from bot.cli.run import run

    if detectors:
        run(lambda settings: detecting.show(settings, repository, as_json=as_json))
        return
    run(lambda settings: feedback.show(settings, repository, weeks, as_json=as_json))


@gates.callback(invoke_without_command=True)
def list_gates(
    context: typer.Context,
    state: Annotated[GateState | None, typer.Option(help="Only gates in this state.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many at most.")] = 20,
) -> None:
    """List the latest gates, waiting ones first. People decide them on GitHub."""
    from bot.cli import gates as asking
    from bot.cli.run import run

    if context.invoked_subcommand is None:
        run(lambda settings: asking.show_all(settings, state, limit))


@gates.command("show")
def show_gate(gate: Annotated[str, typer.Argument(metavar="G-ID", help="As `forge gates` lists it.")]) -> None:
    """Show a gate's question, its reasons, the possible answers, and the answer given."""
    from bot.cli import gates as asking
    from bot.cli.run import run

    run(lambda settings: asking.show_one(settings, gate))


@cli.command(rich_help_panel=_STEP_IN)
def halt(why: Annotated[str, typer.Argument(help="The reason; it is shown and recorded.")] = "") -> None:
    """Stop everything now: Forge calls no model and writes nothing to GitHub. It stores webhooks for later."""
    from bot.cli import halt as halting
    from bot.cli.run import run

    run(lambda settings: halting.halt(settings, why))


@cli.command(rich_help_panel=_STEP_IN)
def resume() -> None:
    """Continue everything that `forge halt` stopped."""
    from bot.cli import halt as halting
    from bot.cli.run import run

    run(halting.resume)


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
    url: Annotated[
        str | None, typer.Option("--pr", metavar="URL", help="Review this pull request with your token of GitHub.")
    ] = None,
    post: Annotated[bool, typer.Option("--post", help="With --pr: post the review there, too.")] = False,
    by_verdict: Annotated[
        bool, typer.Option("--by-verdict", help="With --post: approve or request changes instead of only commenting.")
    ] = False,
    model: Annotated[bool, typer.Option("--model", help="With --pr: also ask the model of FORGE_FAST_MODEL.")] = False,
) -> None:
    """Review a local repository against a revision, like a pull request; or one pull request on GitHub.

    Prints one line per finding if the output is not a terminal. Exit codes: 0 approve, 1 changes requested, 2 wrong
    input or an error, 3 a person should look, 4 nothing found but some source was not read, 130 interrupted, 141 the
    reader of the output stopped before its end.
    """
    from bot.cli import review as local

    if as_json and as_sarif:
        raise typer.BadParameter("Choose one of --json and --sarif.")
    shown = "json" if as_json else "sarif" if as_sarif else "text"
    configure("console", level=40)
    interrupts.raise_again()
    if url is not None:
        if path != Path() or base is not None or staged or fix:
            raise typer.BadParameter(
                "--pr reviews what is on GitHub: leave out the folder, --base, --staged and --fix."
            )
        if by_verdict and not post:
            raise typer.BadParameter("--by-verdict needs --post.")
        from bot.cli.pull_request import command

        work = command.run(url, shown, command.PostingOptions(post, by_verdict), ask_model=model)
    else:
        if post or by_verdict or model:
            raise typer.BadParameter("--post, --by-verdict and --model need --pr.")
        work = local.run(path, base, shown, staged=staged, fix=fix)
    decision = asyncio.run(work)
    raise typer.Exit(0 if unread_ok and decision is Decision.unread else EXIT_CODES[decision])


@cli.command(hidden=True)
def action() -> None:
    """Review the pull request of a job of GitHub Actions; `action.yml` calls it."""
    from bot.cli.pull_request import action as acting

    configure("console", level=40)
    interrupts.raise_again()
    raise typer.Exit(asyncio.run(acting.run()))


@configuration.command("check")
def check_configuration(
    file: Annotated[Path, typer.Argument(help="The configuration file.")] = Path(PATH),
) -> None:
    """Show what `Forge / config` would say about a file, before it is pushed.

    Exit codes: 0 valid, 1 mistakes, 2 it cannot be read.
    """
    from bot.cli import config_check

    raise typer.Exit(0 if config_check.check(file) else 1)


@cli.command(rich_help_panel=_HERE)
def demo(
    stay: Annotated[bool, typer.Option("--stay", help="Keep the simulated GitHub running for a browser.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", help="Show every comment, review and check in full.")] = False,
) -> None:
    """Show a review from end to end on this machine, without an account or a key."""
    from bot import demo as show
    from bot.cli.process import stop_signal

    configure("console", level=40)
    console = Console()
    details = console if verbose else None
    interrupts.raise_again()
    raise typer.Exit(asyncio.run(show.run(console, stop_signal if stay else None, details=details)))


if __name__ == "__main__":
    main()
