"""The schema of our own tables, step by step, on SQLite and PostgreSQL alike (DBOS migrates its own)."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from memory.database import Connection, Engine, begin


def _config(connection: Connection | None = None) -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent))
    config.attributes["connection"] = connection
    return config


def upgrade(engine: Engine, revision: str = "head") -> None:
    """Bring the schema up to a revision, in one transaction.

    :raises DatabaseUnavailable: if the database cannot be reached or written.
    """
    with begin(engine) as connection:
        command.upgrade(_config(connection), revision)


def is_current(engine: Engine) -> bool:
    """Whether the schema is the one this version of Forge was written for."""
    with begin(engine) as connection:
        current = MigrationContext.configure(connection).get_current_revision()
    return current == ScriptDirectory.from_config(_config()).get_current_head()
