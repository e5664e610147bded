"""Runs alembic on the connection it is handed; there is no other way in."""

from typing import cast

from alembic import context

from memory import tables
from memory.database import Base, Connection

connection = cast(Connection, context.config.attributes["connection"])
context.configure(connection=connection, target_metadata=Base.metadata, render_as_batch=True)
# Two processes that start at once take turns; without a word, SQLite would commit each change to the schema by itself.
connection.exec_driver_sql(
    "BEGIN IMMEDIATE" if connection.dialect.name == "sqlite" else "SELECT pg_advisory_xact_lock(7052017)"
)
with context.begin_transaction():
    context.run_migrations()
del tables
