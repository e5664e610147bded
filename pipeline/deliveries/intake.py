"""The only door in: makes deliveries durable and queues their work, several of them in one commit.

The work of a delivery is :mod:`pipeline.deliveries.dispatch`, in any process.
"""

import asyncio
import contextlib
from collections.abc import Sequence
from dataclasses import dataclass

import structlog
from dbos import DBOSClient

from domain.errors import DatabaseUnavailable
from memory.db.engine import Connection, Engine
from memory.deliveries.deliveries import ReceivedDelivery
from memory.deliveries.storage import DeliveryStorage, note_queue_rows, open_storages
from pipeline.durable.queues import BELL, DELIVERY

log = structlog.get_logger(__name__)

PATIENCE = 3.0  # seconds
_LARGEST_GROUP = 64
_ENDING = 1.0  # seconds that a group may take to be given up when the process stops
_PAUSE = 0.1  # seconds before a group that the database did not take is tried again


@dataclass(frozen=True)
class _Caller:
    """Who waits for a delivery to be durable; the answer is whether it was new."""

    delivery: ReceivedDelivery
    answer: asyncio.Future[bool]

    def give_up(self, seconds: float) -> None:
        """Tell that it could not be made durable in so many seconds."""
        if not self.answer.done():
            self.answer.set_exception(DatabaseUnavailable(f"The delivery could not be stored within {seconds:g} s."))


class Intake:
    """Collects deliveries while a commit is on its way and stores them together with the next one.

    :param engine: the door's own engine, with a busy time-out below ``patience``.
    :param client: a DBOS client on the same database.
    :param patience: seconds after which a caller is told that nothing could be made durable.
    """

    def __init__(self, engine: Engine, client: DBOSClient, patience: float = PATIENCE) -> None:
        self._patience = patience
        self._queue: asyncio.Queue[_Caller] = asyncio.Queue()
        self._writers: list[asyncio.Task[None]] = []

        def queue_work(connection: Connection, guid: str) -> None:
            client.enqueue_in_transaction(connection, DELIVERY.build_options(guid=guid), guid)

        self._storages = open_storages(engine, note_queue_rows(queue_work), patience * 0.8)

    def start(self) -> None:
        self._writers = [asyncio.create_task(self._write_groups(each), name="intake") for each in self._storages]

    async def stop(self) -> None:
        """Store what was accepted and stop."""
        if self._writers:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._queue.join(), self._patience)
        for writer in self._writers:
            writer.cancel()
        if self._writers:
            await asyncio.wait(self._writers, timeout=_ENDING)
        for storage in self._storages:
            await storage.close()

    async def accept(self, delivery: ReceivedDelivery) -> bool:
        """Make a delivery durable; whether it was new.

        :raises DatabaseUnavailable: if that did not work within the patience. The delivery may then still be
            stored a moment later, which does no harm: GitHub repeats it with the same GUID.
        """
        loop = asyncio.get_running_loop()
        caller = _Caller(delivery, loop.create_future())
        end = loop.call_later(self._patience, caller.give_up, self._patience)
        self._queue.put_nowait(caller)
        try:
            return await caller.answer
        finally:
            end.cancel()

    async def _write_groups(self, storage: DeliveryStorage) -> None:
        while True:
            group = [await self._queue.get()]
            while len(group) < _LARGEST_GROUP and not self._queue.empty():
                group.append(self._queue.get_nowait())
            await self._write(storage, group)
            for _ in group:
                self._queue.task_done()

    async def _write(self, storage: DeliveryStorage, group: Sequence[_Caller]) -> None:
        """Store a group, again and again while the database does not take it and somebody waits."""
        while waiting := [caller for caller in group if not caller.answer.done()]:
            try:
                new = await storage.store([caller.delivery for caller in waiting])
            except DatabaseUnavailable as error:
                log.warning("intake.not_stored", deliveries=len(waiting), error=str(error))
                await asyncio.sleep(_PAUSE)
            except Exception as error:
                await self._refuse(storage, waiting, error)
            else:
                BELL.ring(DELIVERY.queue)
                for caller, was_new in zip(waiting, new, strict=True):
                    if not caller.answer.done():
                        caller.answer.set_result(was_new)

    async def _refuse(self, storage: DeliveryStorage, group: Sequence[_Caller], error: Exception) -> None:
        """A delivery that cannot be stored is told so; the others of its group do not suffer for it."""
        if len(group) == 1:
            if not group[0].answer.done():
                group[0].answer.set_exception(error)
            return
        for caller in group:
            await self._write(storage, [caller])
