"""Turns events into notices, and sends them to each target that wants them, in their order."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from urllib.parse import urlsplit

import structlog

from domain.config.sections import NotifiedTarget
from domain.errors import DatabaseUnavailable, ForgeError, OutboundFailed, OutboundRefused
from domain.events import EventType
from domain.notices import Notice, NoticeFormat, NoticeTarget, NoticeType, chooses, make_key, parse_key, sign
from domain.ports import Clock, Outbound
from domain.runs.run import RepositoryRef
from domain.value import new_id
from memory import gates
from memory.db.engine import Database
from memory.deliveries import notice_targets, notices
from memory.deliveries.notice_targets import TargetState
from memory.deliveries.notices import FAILED, SENT, AddressedNotice, NoticedEvent, StoredNotice
from messages.notices import build_notice, plain, render, sum_up
from pipeline.config import loading
from pipeline.context import Services
from safety.notices import GIVEN_UP_AFTER, SendOutcome, SendVerdict, judge_answer, judge_failure

log = structlog.get_logger(__name__)

NOT_DEFINED = "the operator defines no target of this name any more (FORGE_NOTIFY_TARGETS)"
NOT_NAMED = "the repository's configuration names it no more, or may not"
_IN_A_ROW = 10
"""Notices to a program before others have their turn; chats take about one a second."""
_SAID = 100  # characters of an answer that are shown
_EVENTS_AT_ONCE = 50
_COMMENTED = timedelta(seconds=15)
"""How long a notice of a gate waits for the comment with which the gate asks, to which it leads."""
_AT_ONCE = 8
"""Targets that a process serves at once: less than half of what may be asked at once in all."""
_OF_REPOSITORY = 2
"""Of these, addresses that one repository names, so that its dead ones leave room for those of others."""


@dataclass(frozen=True)
class NoticeAddress:
    """Where a target is reached."""

    url: str = field(repr=False)
    format: NoticeFormat
    secret: bytes = field(repr=False)


class AddressBook:
    """The targets of the operator, and of the last configurations of repositories, each of which it reads once."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._access = services.notices
        self._configured: dict[int, Sequence[NotifiedTarget]] = {}

    async def list_wanting(self, notice: Notice) -> Sequence[str]:
        """The keys of the targets that want a notice, each once."""
        wanting = [each.name for each in self._access.targets.values() if each.wants(notice.type, notice.severity)]
        if notice.repository is not None:
            for each in await self._load(notice.repository):
                key = self._find_key(each, notice.repository)
                if key and chooses(each.events, notice.type) and notice.severity.reaches(each.least):
                    wanting.append(key)
        return list(dict.fromkeys(wanting))

    async def find_address(self, key: str, notice: Notice) -> NoticeAddress | str:
        """Where a target is reached for a notice, or why it may not get it any more."""
        number, name = parse_key(key)
        if number:
            repository = notice.repository
            is_named = repository is not None and key in await self._list_keys(repository)
            return NoticeAddress(name, NoticeFormat.json, self._access.make_secret(key)) if is_named else NOT_NAMED
        target = self._access.targets.get(name)
        if target is None:
            return NOT_DEFINED
        return self._reach(target) if await self._may_get(target, notice) else NOT_NAMED

    async def _may_get(self, target: NoticeTarget, notice: Notice) -> bool:
        is_own = notice.type in {NoticeType.more, NoticeType.test} and bool(target.events)
        if is_own or target.wants(notice.type, notice.severity):
            return True
        return notice.repository is not None and target.name in await self._list_keys(notice.repository)

    def _reach(self, target: NoticeTarget) -> NoticeAddress:
        return NoticeAddress(target.url, target.format, target.secret or self._access.make_secret(target.name))

    async def _list_keys(self, repository: RepositoryRef) -> set[str]:
        return {key for each in await self._load(repository) if (key := self._find_key(each, repository))}

    def _find_key(self, configured: NotifiedTarget, repository: RepositoryRef) -> str:
        """The key of a target that a repository names; empty if the operator does not let it."""
        if configured.url is not None:
            return make_key(repository, configured.url)
        target = self._access.targets.get(configured.target or "")
        return target.name if target is not None and target.allows(repository) else ""

    async def _load(self, repository: RepositoryRef) -> Sequence[NotifiedTarget]:
        if repository.id not in self._configured:
            configuration = await loading.load_stored(self._services.database, repository)
            self._configured[repository.id] = configuration.notify.targets
        return self._configured[repository.id]


class NoticeSweep:
    """The sweep of one process. Several may run at once: a lease keeps the order of what a target gets."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._delivery = NoticeDelivery(services, new_id())
        self._serving: dict[str, asyncio.Task[None]] = {}

    async def prepare(self) -> None:
        """Keep what follows from what happened."""
        await prepare_notices(self._services)

    async def send(self) -> None:
        """Begin to serve targets that wait, and do not wait for them."""
        self._serving = {key: task for key, task in self._serving.items() if not task.done()}
        room = _AT_ONCE - len(self._serving)
        if room <= 0:
            return
        served = Counter(parse_key(key)[0] for key in self._serving)
        for key in await notice_targets.list_due(self._services.database, self._services.clock.now(), 10 * _AT_ONCE):
            number, _ = parse_key(key)
            if key in self._serving or (number and served[number] >= _OF_REPOSITORY):
                continue
            served[number] += 1
            self._serving[key] = asyncio.create_task(self._serve(key))
            if len(self._serving) >= _AT_ONCE:
                return

    async def _serve(self, key: str) -> None:
        try:
            await self._delivery.serve(key)
        except ForgeError as error:
            log.warning("notice.failed", error=str(error))
        except Exception:
            log.exception("notice.failed")

    async def stop(self) -> None:
        """Break off what is being sent; it is sent again, by the same id."""
        for task in self._serving.values():
            task.cancel()
        await asyncio.gather(*self._serving.values(), return_exceptions=True)


async def prepare_notices(services: Services) -> None:
    """Keep the notices that follow from what happened since; several processes may do it at once."""
    now = services.clock.now()
    await gates.record_expiring(services.database, now)
    book, last = AddressBook(services), ""
    while found := await notices.list_untold(services.database, _EVENTS_AT_ONCE, last):
        for each in found:
            if not _may_wait(each, now - each.event.time):
                await _prepare(services, book, each)
        last = found[-1].event.id


def _may_wait(noticed: NoticedEvent, age: timedelta) -> bool:
    is_new = noticed.event.type is EventType.gate_requested and timedelta() <= age < _COMMENTED
    return is_new and noticed.gate is not None and noticed.gate.is_waiting and noticed.gate.comment_id is None


async def _prepare(services: Services, book: AddressBook, noticed: NoticedEvent) -> None:
    addressed: list[AddressedNotice] = []
    try:
        page = "" if noticed.repository is None else find_page(services, noticed.repository)
        notice = build_notice(noticed.event, noticed.repository, noticed.run, noticed.gate, page)
        if notice is not None:
            addressed = [AddressedNotice(key, notice) for key in await book.list_wanting(notice)]
    except DatabaseUnavailable:
        raise
    except Exception:  # nobody is told of this one, so that the next ones are
        log.exception("notice.not_made", event_id=noticed.event.id, kind=noticed.event.type.value)
    await notices.store(services.database, noticed.event.id, addressed, services.clock.now())


def find_page(services: Services, repository: RepositoryRef) -> str:
    """The address of a repository on GitHub."""
    return services.host.clone_url(repository).removesuffix(".git")


@dataclass(frozen=True)
class OutgoingNotice:
    """A notice as it is sent.

    :param id: the same in every attempt.
    """

    id: str
    notice: Notice
    created_at: datetime


async def send_notice(
    outbound: Outbound, clock: Clock, address: NoticeAddress, outgoing: OutgoingNotice, failures: int = 0
) -> SendVerdict:
    """Make one attempt; what follows from the answer, or from having none.

    :param failures: in a row of this target before.
    """
    body = render(outgoing.notice, address.format)
    headers = {"content-type": "application/json"}
    if address.format is NoticeFormat.json:
        headers |= sign(address.secret, outgoing.id, clock.now(), body)
    try:
        answer = await outbound.post(address.url, body, headers)
    except (OutboundFailed, OutboundRefused) as error:
        return judge_failure(plain(str(error), 300), failures, outgoing.created_at, clock.now())
    said = plain(answer.body.decode(errors="replace"), _SAID) if answer.status >= 300 else ""
    return judge_answer(answer.status, answer.retry_after, failures, outgoing.created_at, clock.now(), said)


class NoticeDelivery:
    """What this process sends.

    :param holder: is new at each start.
    """

    def __init__(self, services: Services, holder: str) -> None:
        self._services = services
        self._database: Database = services.database
        self._clock: Clock = services.clock
        self._holder = holder

    async def serve(self, key: str) -> None:
        """Send what is due to a target, until it fails or others have their turn; nothing if another process does."""
        state = await notice_targets.claim(self._database, key, self._holder, self._clock.now())
        if state is None:
            return
        try:
            if state.failures:
                await self._give_up_old(state)
            await self._send_some(state)
        finally:
            await notice_targets.release(self._database, key, self._holder, self._clock.now())

    async def _give_up_old(self, state: TargetState) -> None:
        """End what waited for so long that it is old news: only what is left is tried once more."""
        now = self._clock.now()
        why = f"not delivered within {GIVEN_UP_AFTER.total_seconds() / 3600:.0f} hours: {state.problem}"
        await notices.give_up(self._database, state.key, why, now, now - GIVEN_UP_AFTER)

    async def _send_some(self, state: TargetState) -> None:
        book = AddressBook(self._services)
        for _ in range(_IN_A_ROW):
            stored = await notices.take_next(self._database, state.key, self._clock.now())
            if stored is None:
                return
            notice = sum_up(stored.notice, stored.more) if stored.more else stored.notice
            address = await book.find_address(state.key, notice)
            if isinstance(address, str):
                await notices.finish(self._database, stored.id, FAILED, address, self._clock.now())
                await notice_targets.forget(self._database, state.key)
                return
            outgoing = OutgoingNotice(stored.id, notice, stored.created_at)
            verdict = await send_notice(self._services.outbound, self._clock, address, outgoing, state.failures)
            await self._record(stored, verdict)
            goes_on = verdict.outcome in {SendOutcome.sent, SendOutcome.refused} and not address.format.is_chat
            if not goes_on or not await notice_targets.renew(
                self._database, state.key, self._holder, self._clock.now()
            ):
                return

    async def _record(self, stored: StoredNotice, verdict: SendVerdict) -> None:
        """Keep what became of an attempt, first of the notice: it is not sent again because of the target's state."""
        now, key = self._clock.now(), stored.target
        match verdict.outcome:
            case SendOutcome.sent:
                await notices.finish(self._database, stored.id, SENT, "", now)
                await notice_targets.record_success(self._database, key, now)
                return
            case SendOutcome.later:
                await notices.note_problem(self._database, stored.id, verdict.why)
            case SendOutcome.refused | SendOutcome.over:
                await notices.finish(self._database, stored.id, FAILED, verdict.why, now)
            case SendOutcome.gone:
                await notice_targets.record_gone(self._database, key, verdict.why, now)
                await notices.give_up(self._database, key, verdict.why, now)
                log.warning("notice.target_gone", target=_name(key), why=verdict.why)
                return
        log.warning("notice.not_sent", target=_name(key), why=verdict.why, notice=stored.id)
        await notice_targets.record_failure(self._database, key, verdict.why, verdict.retry_at or now, now)


def _name(key: str) -> str:
    """A target as a log names it: without the path of an address."""
    number, name = parse_key(key)
    return f"{urlsplit(name).hostname} of repository {number}" if number else name
