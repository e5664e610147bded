"""Looks each second for events to turn into notices, and for targets that may be served."""

import asyncio
from collections import Counter
from datetime import timedelta

import structlog

from domain.errors import DatabaseUnavailable, ForgeError
from domain.events import EventType
from domain.ids import new_id
from domain.notices import parse_key
from domain.runs.run import RepositoryRef
from memory import gates
from memory.deliveries import notice_targets, notices
from memory.deliveries.notices import AddressedNotice, NoticedEvent
from messages.notices import build_notice
from pipeline.context import Services
from pipeline.maintenance.notices.addressing import AddressBook
from pipeline.maintenance.notices.delivery import NoticeDelivery

log = structlog.get_logger(__name__)

_EVENTS_AT_ONCE = 50
_COMMENTED = timedelta(seconds=15)
"""How long a notice of a gate waits for the comment with which the gate asks, to which it leads."""


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


_AT_ONCE = 8
"""Targets that a process serves at once: less than half of what may be asked at once in all."""
_OF_REPOSITORY = 2
"""Of these, addresses that one repository names, so that its dead ones leave room for those of others."""


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
