"""The only door in: makes deliveries durable and queues their work, several of them in one commit."""

import asyncio
import contextlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Self, cast

import structlog
from dbos import DBOSClient

from domain.errors import DatabaseUnavailable
from memory.db.engine import Connection, Engine, begin
from memory.db.round_trips import send_and_commit
from memory.deliveries import deliveries
from memory.deliveries.deliveries import ReceivedDelivery
from pipeline.durable.workflows import DELIVERY

log = structlog.get_logger(__name__)

PATIENCE = 3.0  # seconds
_LARGEST_GROUP = 64
_WRITERS = 2
"""Groups on their way to PostgreSQL at once: while one is committed, the next is sent."""
_PAUSE = 0.1  # seconds before a group that the database did not take is tried again


@dataclass(frozen=True)
class _Caller:
    """Who waits for a delivery to be durable; the answer is whether it was new."""

    delivery: ReceivedDelivery
    answer: asyncio.Future[bool]


class Intake:
    """Collects deliveries while a commit is on its way and stores them together with the next one.

    :param engine: the door's own engine, with a busy time-out below ``patience``.
    :param client: a DBOS client on the same database.
    :param patience: seconds after which a caller is told that nothing could be made durable.
    """

    def __init__(self, engine: Engine, client: DBOSClient, patience: float = PATIENCE) -> None:
        self._engine = engine
        self._client = client
        self._patience = patience
        self._queue: asyncio.Queue[_Caller] = asyncio.Queue()
        self._writers: list[asyncio.Task[None]] = []
        self._count = 1 if engine.dialect.name == "sqlite" else _WRITERS
        # Threads of its own: the loop's others may all be waiting for the database.
        self._threads = ThreadPoolExecutor(self._count, thread_name_prefix="intake")

    def start(self) -> None:
        self._writers = [asyncio.create_task(self._write_groups(), name="intake") for _ in range(self._count)]

    async def stop(self) -> None:
        """Store what was accepted and stop."""
        if self._writers:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._queue.join(), self._patience)
        for writer in self._writers:
            writer.cancel()
        self._threads.shutdown(wait=False)

    async def accept(self, delivery: ReceivedDelivery) -> bool:
        """Make a delivery durable; whether it was new.

        :raises DatabaseUnavailable: if that did not work within the patience. The delivery may then still be
            stored a moment later, which does no harm: GitHub repeats it with the same GUID.
        """
        caller = _Caller(delivery, asyncio.get_running_loop().create_future())
        self._queue.put_nowait(caller)
        try:
            async with asyncio.timeout(self._patience):
                return await caller.answer
        except TimeoutError:
            raise DatabaseUnavailable(f"The delivery could not be stored within {self._patience:g} s.") from None

    async def _write_groups(self) -> None:
        while True:
            group = [await self._queue.get()]
            while len(group) < _LARGEST_GROUP and not self._queue.empty():
                group.append(self._queue.get_nowait())
            await self._write(group)
            for _ in group:
                self._queue.task_done()

    async def _write(self, group: Sequence[_Caller]) -> None:
        """Store a group, again and again while the database does not take it and somebody waits."""
        while waiting := [caller for caller in group if not caller.answer.done()]:
            try:
                new = await self._store([caller.delivery for caller in waiting])
            except DatabaseUnavailable as error:
                log.warning("intake.not_stored", deliveries=len(waiting), error=str(error))
                await asyncio.sleep(_PAUSE)
            except Exception as error:
                await self._refuse(waiting, error)
            else:
                for caller, was_new in zip(waiting, new, strict=True):
                    if not caller.answer.done():
                        caller.answer.set_result(was_new)

    async def _refuse(self, group: Sequence[_Caller], error: Exception) -> None:
        """A delivery that cannot be stored is told so; the others of its group do not suffer for it."""
        if len(group) == 1:
            if not group[0].answer.done():
                group[0].answer.set_exception(error)
            return
        for caller in group:
            await self._write([caller])

    async def _store(self, group: Sequence[ReceivedDelivery]) -> list[bool]:
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._commit, group)

    def _commit(self, group: Sequence[ReceivedDelivery]) -> list[bool]:
        with begin(self._engine) as connection:
            new = deliveries.store(connection, group)
            gathering = _BatchingConnection(connection)
            for delivery, was_new in zip(group, new, strict=True):
                if was_new and delivery.command is not None:
                    self._client.enqueue_in_transaction(
                        cast(Connection, gathering),
                        DELIVERY.build_options(guid=delivery.guid),
                        delivery.guid,
                    )
            gathering.insert()
            return new


class _BatchingConnection:
    """Stands in for a connection while DBOS queues work, so that a group's rows are inserted together.

    DBOS executes two inserts for each workflow. On SQLite it builds them anew each time, which was most of the door's
    time; on PostgreSQL it prepares them as SQL, and each was a round trip.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._inserts: dict[str, tuple[Any, list[Any]]] = {}
        self._prepared: dict[str, list[Any]] = {}
        self.dialect = connection.dialect
        self.get_execution_options = connection.get_execution_options
        self.execution_options = connection.execution_options

    def execute(self, insert: Any, values: Any) -> Self:
        self._inserts.setdefault(insert.table.name, (insert, []))[1].append(values)
        return self

    def exec_driver_sql(self, statement: str, values: Any) -> Self:
        self._prepared.setdefault(statement, []).append(values)
        return self

    def fetchone(self) -> None:
        """No row was there before: the delivery itself was new in this transaction."""

    def insert(self) -> None:
        for insert, rows in self._inserts.values():
            self._connection.execute(insert, rows).close()  # rows that nobody fetches would keep it from committing
        if self._prepared:
            send_and_commit(self._connection, self._prepared)
