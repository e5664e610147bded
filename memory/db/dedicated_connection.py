"""Executes one statement on a connection to PostgreSQL of its own, on the event loop.

SQLAlchemy would take a thread for each transaction, which waits for the interpreter while the loop works, and a cursor
of psycopg takes twice the processor time of what is said here to libpq itself
(https://www.postgresql.org/docs/current/libpq-async.html).
"""

import asyncio
from typing import Any

import psycopg
from psycopg.errors import error_from_result
from psycopg.pq import ExecStatus
from psycopg.pq.abc import PGresult

from domain.errors import DatabaseUnavailable
from memory.db.engine import Engine, build_postgresql_arguments

Rows = list[tuple[bytes | None, ...]]

_NAME = b"statement"  # by which it is prepared
_OUTAGES = (psycopg.OperationalError, psycopg.InterfaceError, psycopg.InternalError)
_GOOD = {ExecStatus.COMMAND_OK, ExecStatus.TUPLES_OK}


class DedicatedConnection:
    """A connection that is opened at its first use, and again after it failed. The statement commits by itself.

    :param engine: of the same database.
    :param statement: SQL with ``$1``, ``$2`` … for its values.
    :param seconds: how long PostgreSQL may take to answer the network.
    """

    def __init__(self, engine: Engine, statement: str, seconds: float) -> None:
        self._arguments = build_arguments(engine, seconds)
        self._statement = statement.encode()
        self._open: psycopg.AsyncConnection | None = None

    async def execute(self, *values: bytes) -> Rows:
        """The rows that the statement returns; values are texts in UTF-8 as PostgreSQL reads and writes them.

        :raises DatabaseUnavailable: the server did not answer; nobody knows whether it committed.
        :raises psycopg.Error: the server refused the statement.
        """
        try:
            if self._open is None:
                self._open = await psycopg.AsyncConnection.connect(**self._arguments, autocommit=True)
                self._open.pgconn.send_prepare(_NAME, self._statement)
                await _Answer(self._open).wait()
            self._open.pgconn.send_query_prepared(_NAME, values)
            found = await _Answer(self._open).wait()
        except psycopg.Error as error:
            await self.close()
            if not isinstance(error, _OUTAGES):
                raise
            raise DatabaseUnavailable(
                f"The database failed: {error}", "Check its state, space and permissions."
            ) from error
        return [tuple(found.get_value(row, column) for column in range(found.nfields)) for row in range(found.ntuples)]

    async def close(self) -> None:
        if self._open is not None:
            await self._open.close()
            self._open = None


def build_arguments(engine: Engine, seconds: float) -> dict[str, Any]:
    """How psycopg connects to the database of an engine.

    :param seconds: how long PostgreSQL may take to answer the network.
    """
    _, named = engine.dialect.create_connect_args(engine.url)
    return {**named, **build_postgresql_arguments(seconds), "client_encoding": "utf8"}


class _Answer:
    """What the server says to a request that was handed to libpq.

    :param connection: that nothing else uses.
    """

    def __init__(self, connection: psycopg.AsyncConnection) -> None:
        self._connection = connection
        self._libpq = connection.pgconn
        self._results: list[PGresult] = []
        self._end: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def wait(self) -> PGresult:
        """Send what is left of the request, and wait until the server is ready for the next: then it has committed.

        :raises psycopg.Error: the server refused the request, or cannot be reached.
        """
        loop, socket = asyncio.get_running_loop(), self._libpq.socket
        if self._libpq.flush():
            loop.add_writer(socket, self._go_on)
        loop.add_reader(socket, self._go_on)
        try:
            await self._end
        finally:
            loop.remove_reader(socket)
            loop.remove_writer(socket)
        for each in self._results:
            if each.status not in _GOOD:
                raise self._explain(each)
        return self._results[-1]

    def _go_on(self) -> None:
        if self._end.done():
            return
        try:
            if not self._libpq.flush():
                asyncio.get_running_loop().remove_writer(self._libpq.socket)
            if self._is_whole():
                self._end.set_result(None)
        except psycopg.Error as error:
            self._end.set_exception(error)

    def _is_whole(self) -> bool:
        """Take what came; whether that was the last of it."""
        self._libpq.consume_input()
        while not self._libpq.is_busy():
            result = self._libpq.get_result()
            if result is None:
                return True
            self._results.append(result)
        return False

    def _explain(self, result: PGresult) -> psycopg.Error:
        error = error_from_result(result)
        return psycopg.OperationalError(str(error)) if self._connection.closed else error
