"""Turns events of the ledger into notices for the targets that want them."""

from datetime import timedelta

import structlog

from domain.errors import DatabaseUnavailable
from domain.events import EventType
from domain.runs.run import RepositoryRef
from memory.deliveries.notices import notices
from memory.deliveries.notices.notices import AddressedNotice, NoticedEvent
from memory.gates import gates
from messages.notices import build_notice
from pipeline.context import Services
from pipeline.maintenance.notices.addressing import AddressBook

log = structlog.get_logger(__name__)

_AT_ONCE = 50
_COMMENTED = timedelta(seconds=15)
"""How long a notice of a gate waits for the comment with which the gate asks, to which it leads."""


async def prepare_notices(services: Services) -> None:
    """Keep the notices that follow from what happened since; several processes may do it at once."""
    now = services.clock.now()
    await gates.record_expiring(services.database, now)
    book, last = AddressBook(services), ""
    while found := await notices.list_untold(services.database, _AT_ONCE, last):
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
