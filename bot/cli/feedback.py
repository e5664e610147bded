"""`forge feedback`: the tokens with which monitoring reports, and the problems that it reported."""

from pathlib import Path
from typing import Annotated

import typer

from bot.cli import lookup
from bot.cli.output import print_lines
from bot.cli.process import command, operator_name
from bot.clock import SystemClock
from bot.current_database import open_database
from bot.settings import Installation
from domain.config.deploy import is_environment
from domain.text.escaping import flatten_text, strip_invisible
from memory.deployments import feedback_tokens, problems
from memory.deployments.feedback_tokens import FeedbackToken
from memory.reports import costs
from messages import production as texts

LONGEST_NAME = 60
LONGEST_SECRET = 200

commands = typer.Typer(
    no_args_is_help=True, add_completion=False, rich_markup_mode=None, help="What monitoring reports of production."
)
tokens = typer.Typer(
    no_args_is_help=True, add_completion=False, rich_markup_mode=None, help="Make, list and revoke its tokens."
)
commands.add_typer(tokens, name="token")

_Repository = Annotated[str, typer.Argument(metavar="OWNER/NAME", help="The repository.")]
_Only = Annotated[str | None, typer.Argument(metavar="OWNER/NAME", help="Only this repository.")]


@command(tokens, "create")
async def create(
    settings: Installation,
    repository: _Repository,
    name: Annotated[str, typer.Option(help="What will use it, e.g. the system that reports.")] = "monitoring",
    environment: Annotated[str | None, typer.Option(help="The environment of reports that name none.")] = None,
    secret_file: Annotated[
        Path | None,
        typer.Option(
            exists=True,
            dir_okay=False,
            help="Holds the client secret of a Sentry integration, which signs its reports.",
        ),
    ] = None,
) -> None:
    """Make a token for one repository, and show it once. Several may be in use, so that one can replace another.

    :raises UnknownName: if Forge never ran in the repository.
    :raises ForgeError: if it has too many tokens.
    """
    plain = flatten_text(name)
    if not 0 < len(plain) <= LONGEST_NAME:
        raise typer.BadParameter(f"A name has 1 to {LONGEST_NAME} characters.")
    if environment is not None and not is_environment(environment):
        raise typer.BadParameter("An environment has letters, digits and _ . / -, at most 100.")
    secret = None if secret_file is None else secret_file.read_text(errors="replace").strip()
    if secret is not None and not 16 <= len(secret) <= LONGEST_SECRET:
        raise typer.BadParameter(f"The file holds no secret of 16 to {LONGEST_SECRET} characters.")
    async with open_database(settings) as database:
        where = await lookup.find_repository(database, repository)
        now = SystemClock().now()
        made, token = await feedback_tokens.create(database, where, plain, operator_name(), now, environment, secret)
    told = f"Token {made.id} ({made.name}) for {where.full_name}."
    if secret is not None:
        print_lines(f"{told} Let Sentry send to /feedback/sentry/{made.id}")
        return
    print_lines(f"{told} It is shown only now: Forge keeps its digest.", token)


@command(tokens, "list")
async def list_all(settings: Installation, repository: _Only = None) -> None:
    """List the tokens, oldest first; never what is secret of them.

    :raises UnknownName: if Forge never ran in the repository.
    """
    async with open_database(settings) as database:
        only = None if repository is None else (await lookup.find_repository(database, repository)).id
        found = await feedback_tokens.list_tokens(database, only)
        names = await costs.load_names(database, [each.repository_id for each in found])
    lines = [_describe_token(each, names.get(each.repository_id, f"repository {each.repository_id}")) for each in found]
    print_lines(*(lines or ["There are no tokens."]))


@command(tokens, "revoke")
async def revoke(
    settings: Installation, key: Annotated[str, typer.Argument(metavar="ID", help="As `token list` lists it.")]
) -> None:
    """Make a token useless at once.

    :raises UnknownName: if there is none with this id.
    """
    async with open_database(settings) as database:
        is_new = await feedback_tokens.revoke(database, key, operator_name(), SystemClock().now())
    print_lines(f"Token {key} is revoked." if is_new else f"Token {key} was revoked before; nothing to do.")


@command(commands, "problems")
async def list_problems(
    settings: Installation,
    repository: _Only = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="At most this many, newest first.")] = 50,
) -> None:
    """List what monitoring reported, the newest first: how often, since when, and the issue about it.

    :raises UnknownName: if Forge never ran in the repository.
    """
    async with open_database(settings) as database:
        only = None if repository is None else (await lookup.find_repository(database, repository)).id
        found = await problems.list_latest(database, only, limit)
        names = await costs.load_names(database, [each.repository_id for each in found])
    lines = [
        texts.list_problem(each, names.get(each.repository_id, f"repository {each.repository_id}")) for each in found
    ]
    print_lines(*(lines or ["Monitoring reported no problem."]))


def _describe_token(token: FeedbackToken, repository: str) -> str:
    used = "never used" if token.used_at is None else f"last used {token.used_at:%Y-%m-%d %H:%M} UTC"
    where = "" if token.environment is None else f", for {token.environment}"
    state = "" if token.revoked_at is None else f", revoked {token.revoked_at:%Y-%m-%d}"
    made = f"made {token.created_at:%Y-%m-%d}{f' by {token.created_by}' if token.created_by else ''}"
    return strip_invisible(f"{token.id}  {repository}  {token.name}: {made}, {used}{where}{state}")
