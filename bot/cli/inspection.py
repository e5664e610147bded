"""The commands that show what Forge does, did and costs."""

from typing import Annotated

import typer

from domain.gates import GateState
from domain.money import GroupBy
from domain.runs.run import RunState

commands = typer.Typer(add_completion=False, rich_markup_mode=None)
gates = typer.Typer(add_completion=False, rich_markup_mode=None)
commands.add_typer(gates, name="gates")


@commands.command()
def runs(
    state: Annotated[RunState | None, typer.Option(help="Only runs in this state.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many at most.")] = 20,
    events: Annotated[
        str | None, typer.Option(metavar="RUN", help="List the events of this run: its id or its end.")
    ] = None,
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
    from bot.cli.process import run

    if sum(each is not None for each in (events, timeline, checkpoint, rollback)) > 1:
        raise typer.BadParameter("Choose one of --events, --checkpoints, --checkpoint and --rollback.")
    if since is not None and checkpoint is None:
        raise typer.BadParameter("--since needs --checkpoint.")
    if file and rollback is None:
        raise typer.BadParameter("--file needs --rollback.")
    if timeline is not None:
        run(lambda settings: checkpoints.show_timeline(settings, timeline))
    elif checkpoint is not None:
        run(lambda settings: checkpoints.show_one(settings, checkpoint, since))
    elif rollback is not None:
        run(lambda settings: checkpoints.roll_back(settings, rollback, file or ()))
    else:
        run(lambda settings: listing.show_runs(settings, state, limit, events))


@commands.command()
def deliveries(
    failed: Annotated[
        bool, typer.Option("--failed", help="List the failed ones, newest first, each by its GUID.")
    ] = False,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="With --failed: how many at most.")] = 100,
) -> None:
    """Count deliveries by event, outcome and kind of reason."""
    from bot.cli import runs as listing
    from bot.cli.process import run

    run(lambda settings: listing.show_failed(settings, limit) if failed else listing.show_deliveries(settings))


@commands.command()
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
    from bot.cli.process import run as run_command

    if as_jsonl and as_csv:
        raise typer.BadParameter("Choose one of --jsonl and --csv.")
    asked = auditing.AuditOptions(run, gate, breaker, since, until, repository, limit)
    form = "jsonl" if as_jsonl else "csv" if as_csv else "story"
    run_command(lambda settings: auditing.show(settings, asked, form))


@commands.command()
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
    from bot.cli.process import run

    if shown is not None:
        run(lambda settings: deploying.show_one(settings, shown, as_json=as_json))
    else:
        run(lambda settings: deploying.show_all(settings, repository, environment, limit, as_json=as_json))


@commands.command()
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
    from bot.cli import notices as telling
    from bot.cli.process import run, run_app

    if test is not None and secret is not None:
        raise typer.BadParameter("Choose one of --test and --secret.")
    if test is not None:
        run_app(lambda settings: telling.try_target(settings, test, repository))
    elif secret is not None:
        run_app(lambda settings: telling.print_secret(settings, secret, repository))
    else:
        run(lambda settings: telling.show_all(settings, repository, limit, failed=failed, as_json=as_json))


@commands.command()
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
    from bot.cli.process import run as run_command

    run_command(lambda settings: spending.show(settings, spending.CostOptions(by, run, repository, since, until)))


@commands.command()
def metrics(
    repository: Annotated[str | None, typer.Option(metavar="OWNER/NAME", help="Only this repository.")] = None,
    weeks: Annotated[int, typer.Option(min=1, max=52, help="How many weeks.")] = 12,
    as_json: Annotated[bool, typer.Option("--json", help="Print every week as JSON.")] = False,
    detectors: Annotated[
        bool, typer.Option(help="Show how often each detector of giving up was wrong, and what may pass here.")
    ] = False,
) -> None:
    """Show how well Forge does week by week: success, cost, iterations, dismissals and overrides."""
    from bot.cli import metrics as feedback
    from bot.cli.process import run

    if detectors:
        run(lambda settings: feedback.show_detectors(settings, repository, as_json=as_json))
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
    from bot.cli.process import run

    if context.invoked_subcommand is None:
        run(lambda settings: asking.show_all(settings, state, limit))


@gates.command("show")
def show_gate(gate: Annotated[str, typer.Argument(metavar="G-ID", help="As `forge gates` lists it.")]) -> None:
    """Show a gate's question, its reasons, the possible answers, and the answer given."""
    from bot.cli import gates as asking
    from bot.cli.process import run

    run(lambda settings: asking.show_one(settings, gate))
