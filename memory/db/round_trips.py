"""Sends several statements to PostgreSQL in one round trip."""

from collections.abc import Mapping, Sequence
from typing import Any

import psycopg

from domain.errors import DatabaseUnavailable
from memory.db.engine import Connection


def send_and_commit(connection: Connection, statements: Mapping[str, Sequence[Any]]) -> None:
    """Send statements and the commit before the first answer is read. Nothing may follow in the transaction.

    :param statements: SQL as the driver understands it, with the values of each execution.
    :raises DatabaseUnavailable: the server did not answer; nobody knows whether it committed.
    """
    driver: Any = connection.connection.driver_connection
    try:
        with driver.pipeline():
            for statement, rows in statements.items():
                connection.exec_driver_sql(statement, rows)
            connection.commit()
    except (psycopg.OperationalError, psycopg.InterfaceError, psycopg.InternalError) as error:
        connection.invalidate()
        raise DatabaseUnavailable(f"The database failed: {error}", "Check its state, space and permissions.") from error
