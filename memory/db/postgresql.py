"""Talks to PostgreSQL on connections of its own, on the event loop: one statement each, or news (LISTEN and NOTIFY).

SQLAlchemy would take a thread for each transaction, which waits for the interpreter while the loop works, and a cursor
of psycopg takes twice the processor time of what is said here to libpq itself
(https://www.postgresql.org/docs/current/libpq-async.html). News get lost while a connection is away; nobody may depend
on them.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

import psycopg
import structlog
from psycopg.errors import error_from_result
from psycopg.pq import ExecStatus
from psycopg.pq.abc import PGresult

from domain.errors import DatabaseUnavailable
from memory.db.engine import Engine, build_postgresql_arguments

Rows = list[tuple[bytes | None, ...]]
_NAME = b"statement"  # by which it is prepared
_OUTAGES = (psycopg.OperationalError, psycopg.InterfaceError, psycopg.InternalError)
_GOOD = {ExecStatus.COMMAND_OK, ExecStatus.TUPLES_OK}


log = structlog.get_logger(__name__)

_CHANNEL = "forge"
# Nobody waits for the disk because of it.
_TELL = f"SELECT pg_notify('{_CHANNEL}', $1) FROM (SELECT set_config('synchronous_commit', 'off', true)) AS told"
_TOGETHER = 0.01
"""Seconds in which what is told is collected: each transaction that tells something locks out the others."""
_SECONDS = 3.0  # that the server may take to answer
_PAUSE = 2.0  # seconds before a connection that failed is opened again


class Announcer:
    """Tells short texts to whoever listens. Call :meth:`tell` on the event loop.

    :param engine: of the database.
    """

    def __init__(self, engine: Engine) -> None:
        self._connection = DedicatedConnection(engine, _TELL, _SECONDS)
        self._untold: set[str] = set()
        self._has_news = asyncio.Event()

    def tell(self, text: str) -> None:
        """Tell a text soon; the same one told again meanwhile is told once."""
        self._untold.add(text)
        self._has_news.set()

    @asynccontextmanager
    async def run(self) -> AsyncGenerator[None]:
        """Tell what is to be told until the end."""
        telling = asyncio.create_task(self._keep_telling(), name="announcer")
        try:
            yield
        finally:
            telling.cancel()
            await asyncio.gather(telling, return_exceptions=True)
            await self._connection.close()

    async def _keep_telling(self) -> None:
        while True:
            await self._has_news.wait()
            await asyncio.sleep(_TOGETHER)
            self._has_news.clear()
            told, self._untold = self._untold, set()
            try:
                for text in sorted(told):
                    await self._connection.execute(text.encode())
            except (DatabaseUnavailable, psycopg.Error) as error:
                log.info("announcement.lost", error=str(error))


@asynccontextmanager
async def listen(engine: Engine, hear: Callable[[str], None], began: Callable[[], None]) -> AsyncGenerator[None]:
    """Hear what any process tells, this one's own included, until the end.

    :param hear: called with each text.
    :param began: called whenever a connection listens: what was told before may have been missed.
    """
    listening = asyncio.create_task(_keep_listening(engine, hear, began), name="listener")
    try:
        yield
    finally:
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)


async def _keep_listening(engine: Engine, hear: Callable[[str], None], began: Callable[[], None]) -> None:
    while True:
        with contextlib.suppress(psycopg.Error, OSError):
            async with await psycopg.AsyncConnection.connect(
                **build_arguments(engine, _SECONDS), autocommit=True
            ) as connection:
                await connection.execute(f"LISTEN {_CHANNEL}")
                began()
                await _hear_all(connection, hear)
        await asyncio.sleep(_PAUSE)


async def _hear_all(connection: psycopg.AsyncConnection, hear: Callable[[str], None]) -> None:
    """Call ``hear`` until the connection fails. psycopg's own generator would wake ten times a second.

    :raises psycopg.Error: it failed.
    """
    libpq, loop = connection.pgconn, asyncio.get_running_loop()
    failed: asyncio.Future[None] = loop.create_future()

    def read() -> None:
        try:
            libpq.consume_input()
            while (notice := libpq.notifies()) is not None:
                hear(notice.extra.decode())
        except psycopg.Error as error:
            if not failed.done():
                failed.set_exception(error)

    loop.add_reader(libpq.socket, read)
    try:
        read()
        await failed
    finally:
        loop.remove_reader(libpq.socket)


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
