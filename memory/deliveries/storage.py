"""Stores a group of deliveries and queues their work, in one commit."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

from memory.db.dedicated_connection import DedicatedConnection
from memory.db.engine import Engine, begin
from memory.deliveries import deliveries, pushes
from memory.deliveries.deliveries import ReceivedDelivery
from memory.deliveries.group_statement import GroupStatement
from memory.deliveries.queue_rows import QueueRows

_AT_ONCE = 3
"""Groups on their way to PostgreSQL at once: while some are committed, the next is sent (docs/scaling.md)."""


class DeliveryStorage(Protocol):
    """Stores one group of deliveries after the other."""

    async def store(self, group: Sequence[ReceivedDelivery]) -> list[bool]:
        """Store a group and queue its work; whether each delivery was new, as :func:`deliveries.store` says.

        :raises DatabaseUnavailable: the database does not work; nobody knows whether it committed.
        """
        ...

    async def close(self) -> None: ...


def open_storages(engine: Engine, queue: QueueRows, seconds: float) -> Sequence[DeliveryStorage]:
    """As many as may store at once.

    :param engine: for urgent writes.
    :param queue: with which the work of a delivery is queued.
    :param seconds: after which a server of PostgreSQL that vanished is given up.
    """
    if engine.dialect.name == "sqlite":
        return [_SqliteStorage(engine, queue)]
    statement = GroupStatement(queue)
    connections = [DedicatedConnection(engine, statement.text, seconds) for _ in range(_AT_ONCE)]
    return [_PostgresqlStorage(each, statement) for each in connections]


class _SqliteStorage:
    """Stores in a thread of its own: the loop's others may all be waiting for the database."""

    def __init__(self, engine: Engine, queue: QueueRows) -> None:
        self._engine = engine
        self._queue = queue
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="intake")

    async def store(self, group: Sequence[ReceivedDelivery]) -> list[bool]:
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._commit, group)

    async def close(self) -> None:
        self._thread.shutdown(wait=False)

    def _commit(self, group: Sequence[ReceivedDelivery]) -> list[bool]:
        with begin(self._engine) as connection:
            new = deliveries.store(connection, group)
            pushes.store(connection, deliveries.list_pushes(group))
            work = [each.guid for each, is_new in zip(group, new, strict=True) if is_new and each.command is not None]
            self._queue.insert(connection, work)
            return new


class _PostgresqlStorage:
    """Stores with one statement, which is also the commit."""

    def __init__(self, connection: DedicatedConnection, statement: GroupStatement) -> None:
        self._connection = connection
        self._statement = statement

    async def store(self, group: Sequence[ReceivedDelivery]) -> list[bool]:
        inserted = await self._connection.execute(
            *self._statement.bind(deliveries.build_rows(group), deliveries.list_pushes(group))
        )
        return deliveries.tell_new(group, {guid.decode() for (guid,) in inserted if guid is not None})

    async def close(self) -> None:
        await self._connection.close()
