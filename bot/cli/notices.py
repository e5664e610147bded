"""`forge notices`: lists what was told to whom and which targets fail, tries a target, and prints its secret."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Annotated

import typer

from bot.cli import lookup
from bot.cli.output import print_json, print_lines
from bot.cli.process import run, run_app
from bot.clock import SystemClock
from bot.current_database import open_database
from bot.operator_files import load_notice_access
from bot.outbound import OutboundClient
from bot.settings import Installation, Settings
from domain.errors import ForgeError, UnknownName
from domain.notices import NoticeAccess, NoticeFormat, make_key, parse_key, show_secret
from domain.text.escaping import flatten_redacted, format_moment, strip_invisible
from domain.value import new_id
from memory.db.engine import Database
from memory.deliveries import notice_targets, notices
from memory.deliveries.notice_targets import TargetState
from memory.deliveries.notices import FAILED, STATES, StoredNotice
from messages.notices import build_test, describe_target, sum_up
from pipeline.maintenance.notices import NoticeAddress, OutgoingNotice, send_notice
from safety.notices import SendOutcome

commands = typer.Typer(add_completion=False, rich_markup_mode=None)


@commands.command("notices")
def notices_command(
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
    if test is not None and secret is not None:
        raise typer.BadParameter("Choose one of --test and --secret.")
    if test is not None:
        run_app(lambda settings: try_target(settings, test, repository))
    elif secret is not None:
        run_app(lambda settings: print_secret(settings, secret, repository))
    else:
        run(lambda settings: show_all(settings, repository, limit, failed=failed, as_json=as_json))


async def show_all(settings: Installation, repository: str | None, limit: int, *, failed: bool, as_json: bool) -> None:
    """Print the latest notices, and the targets that fail.

    :param repository: only this one.
    :raises UnknownName: if Forge never ran in the repository.
    """
    async with open_database(settings) as database:
        only = None if repository is None else (await lookup.find_repository(database, repository)).id
        found = await notices.list_latest(database, limit, [FAILED] if failed else STATES, only)
        failing = await notice_targets.list_failing(database)
    if as_json:
        print_json({"notices": [_to_json(each) for each in found], "failing": [_state_json(each) for each in failing]})
    else:
        print_lines(*_to_lines(found, failing))


def _to_lines(found: Sequence[StoredNotice], failing: Sequence[TargetState]) -> Iterator[str]:
    for each in found:
        yield from _describe(each)
    if not found:
        yield "There are no notices."
    for each in failing:
        since = "" if each.failing_since is None else f" since {format_moment(each.failing_since)}"
        how = "wants nothing any more" if each.gone_at else f"fails{since}, next attempt {format_moment(each.retry_at)}"
        yield flatten_redacted(f"! {describe_target(each.key)} {how}: {each.problem}")


def _describe(stored: StoredNotice) -> Iterator[str]:
    told = sum_up(stored.notice, stored.more) if stored.more else stored.notice
    tries = "" if stored.attempts < 2 else f", {stored.attempts} attempts"
    created, target = format_moment(stored.created_at), describe_target(stored.target)
    parts = (created, told.type, f"{stored.state}{tries}", target, told.title)
    yield "  ".join(map(flatten_redacted, parts))
    if stored.problem:
        yield f"    {flatten_redacted(stored.problem)}"


def _to_json(stored: StoredNotice) -> dict[str, object]:
    told = sum_up(stored.notice, stored.more) if stored.more else stored.notice
    return {
        "id": stored.id,
        "target": describe_target(stored.target),
        "state": stored.state,
        "created_at": stored.created_at.isoformat(),
        "ended_at": None if stored.ended_at is None else stored.ended_at.isoformat(),
        "attempts": stored.attempts,
        "problem": stored.problem,
        "notice": told.model_dump(mode="json", exclude={"cause"}),
    }


def _state_json(state: TargetState) -> dict[str, object]:
    return {
        "target": describe_target(state.key),
        "failures": state.failures,
        "since": None if state.failing_since is None else state.failing_since.isoformat(),
        "is_gone": state.gone_at is not None,
        "retry_at": state.retry_at.isoformat(),
        "problem": state.problem,
    }


async def try_target(settings: Settings, named: str, repository: str | None) -> None:
    """Send a test to a target and print what became of it; one that takes it gets notices again.

    :param named: the name of the operator's, or an address.
    :param repository: whose configuration names that.
    :raises ForgeError: it did not take it.
    """
    access, clock = _load_access(settings), SystemClock()
    async with open_database(settings) as database:
        key = await _find_key(database, access, named, repository)
        address = _find_address(access, key)
        test = OutgoingNotice(new_id(), build_test(clock.now(), describe_target(key)), clock.now())
        with closing(OutboundClient(settings.outbound_allow)) as outbound:
            verdict = await send_notice(outbound, clock, address, test)
        if verdict.outcome is not SendOutcome.sent:
            advice = "Correct its address, or what answers there, and try again."
            raise ForgeError(f"{describe_target(key)} did not take the test: {verdict.why.rstrip('.')}.", advice)
        await notice_targets.record_success(database, key, clock.now())
    print_lines(f"{describe_target(key)} took the test {test.id}.")


async def print_secret(settings: Settings, named: str, repository: str | None) -> None:
    """Print with what Forge signs what it sends to a target; its receiver needs it.

    :raises ForgeError: there is no such target, or nothing is signed for it.
    """
    access = _load_access(settings)
    async with open_database(settings) as database:
        key = await _find_key(database, access, named, repository)
    address = _find_address(access, key)
    if address.format is not NoticeFormat.json:
        raise ForgeError(f"{key} is a chat, which checks no signature.", "Its address is its secret.")
    print(show_secret(address.secret))  # noqa: T201 - as it is: the output of every other command is redacted


def _load_access(settings: Settings) -> NoticeAccess:
    return load_notice_access(settings.notify_targets, settings.private_key_pem())


async def _find_key(database: Database, access: NoticeAccess, named: str, repository: str | None) -> str:
    if "://" not in named:
        if named not in access.targets:
            known = ", ".join(sorted(access.targets)) or "none"
            raise UnknownName(f"FORGE_NOTIFY_TARGETS defines no target {strip_invisible(named)}; it defines {known}.")
        return named
    if repository is None:
        raise UnknownName("Whose address that is must be said, too: --repository OWNER/NAME.")
    return make_key(await lookup.find_repository(database, repository), named)


def _find_address(access: NoticeAccess, key: str) -> NoticeAddress:
    number, name = parse_key(key)
    if number:
        return NoticeAddress(name, NoticeFormat.json, access.make_secret(key))
    target = access.targets[name]
    return NoticeAddress(target.url, target.format, target.secret or access.make_secret(name))
