"""`forge notices --test` and `--secret`: tries a target of notices, and prints the secret that its receiver needs."""

from contextlib import closing

from bot.cli import lookup
from bot.cli.output import output
from bot.clock import SystemClock
from bot.current_database import open_database
from bot.notify_targets import load_notice_access
from bot.outbound.client import OutboundClient
from bot.settings import Settings
from domain.errors import ForgeError, UnknownName
from domain.ids import new_id
from domain.notices import NoticeAccess, NoticeFormat, make_key, parse_key, show_secret
from domain.text.escaping import strip_invisible
from memory.db.engine import Database
from memory.deliveries.notices import targets
from messages.notices import build_test, describe_target
from pipeline.maintenance.notices.addressing import NoticeAddress
from pipeline.maintenance.notices.delivery import NoticeSender, OutgoingNotice
from safety.notices import SendOutcome


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
            verdict = await NoticeSender(outbound, clock).send(address, test)
        if verdict.outcome is not SendOutcome.sent:
            advice = "Correct its address, or what answers there, and try again."
            raise ForgeError(f"{describe_target(key)} did not take the test: {verdict.why.rstrip('.')}.", advice)
        await targets.record_success(database, key, clock.now())
    with output() as console:
        console.out(f"{describe_target(key)} took the test {test.id}.", highlight=False)


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
