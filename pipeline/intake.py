"""The only door in: makes deliveries durable and queues their work, several of them in one commit."""

import asyncio
import contextlib
from collections.abc import Sequence

from dbos import DBOSClient

from domain.errors import DatabaseUnavailable
from memory import deliveries
from memory.database import Engine, begin
from memory.deliveries import Delivery
from pipeline.names import APP_VERSION, DELIVERIES, DELIVERY

_LARGEST_GROUP = 64


class Intake:
    """Collects deliveries while a commit is on its way and stores them together with the next one.

    :param engine: the door's own engine, with its short busy time-out.
    :param client: a DBOS client on the same database.
    :param patience: seconds after which a caller is told that nothing could be made durable.
    """

    def __init__(self, engine: Engine, client: DBOSClient, patience: float = 3) -> None:
        self._engine = engine
        self._client = client
        self._patience = patience
        self._queue: asyncio.Queue[tuple[Delivery, asyncio.Future[bool]]] = asyncio.Queue()
        self._writer: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._writer = asyncio.create_task(self._write_groups(), name="intake")

    async def stop(self) -> None:
        """Store what was accepted and stop."""
        if self._writer is not None:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._queue.join(), self._patience)
            self._writer.cancel()

    async def accept(self, delivery: Delivery) -> bool:
        """Make a delivery durable; whether it was new.

        :raises DatabaseUnavailable: if that did not work within the patience. The delivery may then still be
            stored a moment later, which does no harm: GitHub repeats it with the same GUID.
        """
        done: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._queue.put_nowait((delivery, done))
        try:
            return await asyncio.wait_for(done, self._patience)
        except TimeoutError:
            raise DatabaseUnavailable(f"The delivery could not be stored within {self._patience:g} s.") from None

    async def _write_groups(self) -> None:
        while True:
            group = [await self._queue.get()]
            while len(group) < _LARGEST_GROUP and not self._queue.empty():
                group.append(self._queue.get_nowait())
            await self._write([(delivery, done) for delivery, done in group if not done.done()])
            for _ in group:
                self._queue.task_done()

    async def _write(self, group: Sequence[tuple[Delivery, asyncio.Future[bool]]]) -> None:
        if not group:
            return
        try:
            new = await asyncio.to_thread(self._commit, [delivery for delivery, _ in group])
        except Exception as error:  # whatever it was, each caller must hear of it
            for _, done in group:
                if not done.done():
                    done.set_exception(error)
            return
        for (_, done), was_new in zip(group, new, strict=True):
            if not done.done():
                done.set_result(was_new)

    def _commit(self, group: Sequence[Delivery]) -> list[bool]:
        with begin(self._engine) as connection:
            new = deliveries.store(connection, group)
            for delivery, was_new in zip(group, new, strict=True):
                if was_new and delivery.command is not None:
                    self._client.enqueue_in_transaction(
                        connection,
                        {
                            "workflow_name": DELIVERY,
                            "queue_name": DELIVERIES,
                            "workflow_id": delivery.guid,
                            "app_version": APP_VERSION,
                        },
                        delivery.guid,
                        delivery.command,
                    )
            return new
