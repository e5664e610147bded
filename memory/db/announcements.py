"""Tells the other processes on a PostgreSQL database of something, and hears what they tell (LISTEN and NOTIFY).

What is told gets lost while a connection is away; nobody may depend on it.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

import psycopg
import structlog

from domain.errors import DatabaseUnavailable
from memory.db.dedicated_connection import DedicatedConnection, build_arguments
from memory.db.engine import Engine

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
