"""Executes statements on a connection to PostgreSQL of its own, on the event loop.

SQLAlchemy would take a thread for each transaction, which waits for the interpreter while the loop works.
"""

from collections.abc import Mapping
from typing import Any

import psycopg

from domain.errors import DatabaseUnavailable
from memory.db.engine import Engine, build_postgresql_arguments

Rows = list[tuple[Any, ...]]


class DedicatedConnection:
    """A connection that is opened at its first use, and again after it failed. Each statement commits by itself.

    :param engine: of the same database.
    :param seconds: how long PostgreSQL may take to answer the network.
    """

    def __init__(self, engine: Engine, seconds: float) -> None:
        _, named = engine.dialect.create_connect_args(engine.url)
        self._arguments = {**named, **build_postgresql_arguments(seconds)}
        self._open: psycopg.AsyncCursor[tuple[Any, ...]] | None = None

    async def execute(self, statement: bytes, values: Mapping[str, object]) -> Rows:
        """The rows that a statement returns; it is prepared at its first use.

        :param statement: SQL as the driver understands it, in UTF-8.
        :raises DatabaseUnavailable: the server did not answer; nobody knows whether it committed.
        """
        try:
            if self._open is None:
                connection = await psycopg.AsyncConnection.connect(**self._arguments, autocommit=True)
                self._open = connection.cursor()  # one for all, which remembers how it converts the values
            await self._open.execute(statement, values, prepare=True)
            return await self._open.fetchall()
        except (psycopg.OperationalError, psycopg.InterfaceError, psycopg.InternalError) as error:
            await self.close()
            raise DatabaseUnavailable(
                f"The database failed: {error}", "Check its state, space and permissions."
            ) from error

    async def close(self) -> None:
        if self._open is not None:
            await self._open.connection.close()
            self._open = None
