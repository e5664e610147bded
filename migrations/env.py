"""Runs alembic on the connection it is handed; there is no other way in."""

from typing import cast

from alembic import context

from memory.db import tables
from memory.db.engine import Connection, TableRow

connection = cast(Connection, context.config.attributes["connection"])
context.configure(connection=connection, target_metadata=TableRow.metadata, render_as_batch=True)
# Two processes that start at once take turns. On SQLite this begins the transaction, too: the driver begins none for
# changes of the schema, and each would be committed by itself.
connection.exec_driver_sql(
    "BEGIN IMMEDIATE" if connection.dialect.name == "sqlite" else "SELECT pg_advisory_xact_lock(7052017)"
)
with context.begin_transaction():
    context.run_migrations()
del tables
