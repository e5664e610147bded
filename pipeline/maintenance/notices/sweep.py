"""Looks each second for what people should be told, and for targets that may be served; neither waits for a target."""

import asyncio
from collections import Counter

import structlog

from domain.errors import ForgeError
from domain.ids import new_id
from domain.notices import parse_key
from memory.deliveries.notices import targets
from pipeline.context import Services
from pipeline.maintenance.notices.delivery import NoticeDelivery
from pipeline.maintenance.notices.preparation import prepare_notices

log = structlog.get_logger(__name__)

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
        for key in await targets.list_due(self._services.database, self._services.clock.now(), 10 * _AT_ONCE):
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
