"""`forge notices`: lists who is told and whom that does not reach, tries a target, and prints its secret."""

from contextlib import closing
from dataclasses import replace
from typing import Annotated

import typer

from bot.cli import lookup
from bot.cli.output import print_lines
from bot.cli.process import run
from bot.clock import SystemClock
from bot.current_database import open_database
from bot.operator_files import load_notice_access
from bot.outbound import OutboundClient
from bot.settings import Installation, Settings
from domain.errors import ForgeError, UnknownName
from domain.notices import NoticeFormat, NoticeTarget, show_secret
from domain.text.escaping import flatten_redacted, strip_invisible
from domain.value import new_id
from memory.db.engine import Database
from memory.deliveries import notice_targets
from messages.notices import build_test, describe_state
from pipeline.maintenance.notices import build_state, send

commands = typer.Typer(add_completion=False, rich_markup_mode=None)


@commands.command("notices")
def notices_command(
    repository: Annotated[str | None, typer.Option(metavar="OWNER/NAME", help="Whose address it is.")] = None,
    test: Annotated[
        str | None, typer.Option(metavar="TARGET", help="Send a test there: a name, or an address and --repository.")
    ] = None,
    secret: Annotated[
        str | None, typer.Option(metavar="TARGET", help="Print the secret by which its receiver knows Forge.")
    ] = None,
) -> None:
    """List whom Forge tells of gates, limits, levels and failures, and which of them fail; or try one."""
    if test is not None and secret is not None:
        raise typer.BadParameter("Choose one of --test and --secret.")
    if test is not None:
        run(Settings, lambda settings: try_target(settings, test, repository))
    elif secret is not None:
        run(Settings, lambda settings: print_secret(settings, secret, repository))
    else:
        run(Installation, show_all)


async def show_all(settings: Installation) -> None:
    """Print how each target is."""
    async with open_database(settings) as database:
        known = await notice_targets.list_all(database)
    lines = [flatten_redacted(describe_state(each)) for each in known]
    print_lines(*lines or ["Nobody was told anything so far."])


async def try_target(settings: Settings, named: str, repository: str | None) -> None:
    """Send a test to a target and print what became of it; one that takes it gets notices again.

    :param named: the name of the operator's, or an address.
    :param repository: whose configuration names that.
    :raises ForgeError: it did not take it.
    """
    clock, test_id = SystemClock(), new_id()
    async with open_database(settings) as database:
        target = await _find(settings, database, named, repository)
        now = clock.now()
        state = await notice_targets.find(database, target.id) or build_state(target, now)
        with closing(OutboundClient(settings.outbound_allow)) as outbound:
            after, _ = await send(outbound, clock, target, build_test(now, target.name), test_id, state)
        if after.problem:
            advice = "Correct its address, or what answers there, and try again."
            raise ForgeError(f"{target.name} did not take the test: {after.problem.rstrip('.')}.", advice)
        await notice_targets.save(database, replace(after, told=state.told))
    print_lines(f"{target.name} took the test {test_id}.")


async def print_secret(settings: Settings, named: str, repository: str | None) -> None:
    """Print with what Forge signs what it sends to a target; its receiver needs it.

    :raises ForgeError: there is no such target, or nothing is signed for it.
    """
    async with open_database(settings) as database:
        target = await _find(settings, database, named, repository)
    if target.format is not NoticeFormat.json:
        raise ForgeError(f"{target.name} is a chat, which checks no signature.", "Its address is its secret.")
    print(show_secret(target.secret))  # noqa: T201 - as it is: the output of every other command is redacted


async def _find(settings: Settings, database: Database, named: str, repository: str | None) -> NoticeTarget:
    access = load_notice_access(settings.notify_targets, settings.private_key_pem())
    if "://" in named:
        if repository is None:
            raise UnknownName("Whose address that is must be said, too: --repository OWNER/NAME.")
        return access.build_target(await lookup.find_repository(database, repository), named)
    own = {each.name: each for each in access.targets}
    if named not in own:
        known = ", ".join(sorted(own)) or "none"
        raise UnknownName(f"FORGE_NOTIFY_TARGETS defines no target {strip_invisible(named)}; it defines {known}.")
    return own[named]
