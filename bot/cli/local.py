"""The commands that need no server: review a folder or one pull request, check a configuration, show the demo."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from bot import interrupts

commands = typer.Typer(add_completion=False, rich_markup_mode=None)
configuration = typer.Typer(
    no_args_is_help=True, add_completion=False, rich_markup_mode=None, help="Look at a configuration file."
)
commands.add_typer(configuration, name="config")


@commands.command()
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
    model: Annotated[
        bool, typer.Option("--model", help="Also ask the model of FORGE_FAST_MODEL; the change is sent to it.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Leave out the notes: findings and verdict only.")] = False,
) -> None:
    """Review a local repository against a revision, like a pull request; or one pull request on GitHub.

    Nothing of the repository is run: no tests, and not those of before on the new code.

    Prints one line per finding if the output is not a terminal. Exit codes: 0 nothing blocks, 1 changes requested, 2
    wrong input or an error, 3 a person should look, 4 nothing found but some source was not read, 130 interrupted, 141
    the reader of the output stopped before its end.
    """
    if as_json and as_sarif:
        raise typer.BadParameter("Choose one of --json and --sarif.")
    shown = "json" if as_json else "sarif" if as_sarif else "text"
    interrupts.raise_again()
    if url is not None:
        if path != Path() or base is not None or staged or fix:
            raise typer.BadParameter(
                "--pr reviews what is on GitHub: leave out the folder, --base, --staged and --fix."
            )
        if by_verdict and not post:
            raise typer.BadParameter("--by-verdict needs --post.")
        from bot.cli.pull_request import command
        from bot.logging import configure

        configure("console", level=40)
        work = command.run(url, shown, command.PostingOptions(post, by_verdict), ask_model=model, quiet=quiet)
    else:
        if post or by_verdict:
            raise typer.BadParameter("--post and --by-verdict need --pr.")
        from bot.cli.local_review import LocalOptions, run

        work = run(path, LocalOptions(base, staged=staged, fix=fix, ask_model=model), shown, quiet=quiet)
    done = asyncio.run(work)
    from bot.cli.review import find_exit_code

    raise typer.Exit(find_exit_code(done, unread_ok=unread_ok))


@commands.command(hidden=True)
def action() -> None:
    """Review the pull request of a job of GitHub Actions; `action.yml` calls it."""
    from bot.cli.pull_request import action as acting
    from bot.logging import configure

    configure("console", level=40)
    interrupts.raise_again()
    raise typer.Exit(asyncio.run(acting.run()))


@configuration.command("check")
def check_configuration(
    file: Annotated[Path, typer.Argument(help="The configuration file.")] = Path(".github/forge.yml"),
) -> None:
    """Show what `Forge / config` would say about a file, before it is pushed.

    Exit codes: 0 valid, 1 mistakes, 2 it cannot be read.
    """
    from bot.cli import config_check

    raise typer.Exit(0 if config_check.check(file) else 1)


@commands.command()
def demo(
    stay: Annotated[bool, typer.Option("--stay", help="Keep the simulated GitHub running for a browser.")] = False,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="PROVIDER:NAME",
            help="Have a real model do what you ask for in the browser; with --stay, and without the scenes before.",
        ),
    ] = None,
    verbose: Annotated[bool, typer.Option("--verbose", help="Show every comment, review and check in full.")] = False,
) -> None:
    """Show a review from end to end on this machine, without an account or a key."""
    from rich.console import Console

    from bot.cli.process import stop_signal
    from bot.demo import show
    from bot.logging import configure

    configure("console", level=40)
    console = Console()
    details = console if verbose else None
    interrupts.raise_again()
    if model is not None and not stay:
        raise typer.BadParameter("A model answers in the browser: add --stay.", param_hint="--model")
    raise typer.Exit(asyncio.run(show.run(console, stop_signal if stay else None, details=details, model=model)))
