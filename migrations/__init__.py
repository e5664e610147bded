"""The schema of our own tables, step by step, on SQLite and PostgreSQL alike (DBOS migrates its own)."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from domain.errors import ConfigurationError
from memory.db.engine import Connection, Engine, begin

_POSTGRESQL = (14, 0)  # the oldest that counts bits, by which vectors are found


def _config(connection: Connection | None = None) -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent))
    config.attributes["connection"] = connection
    return config


def upgrade(engine: Engine, revision: str = "head") -> None:
    """Bring the schema up to a revision, in one transaction.

    :raises ConfigurationError: if another version of Forge wrote the database, or its server is too old.
    :raises DatabaseUnavailable: if the database cannot be reached or written.
    """
    with begin(engine) as connection:
        _current(connection)
        command.upgrade(_config(connection), revision)


def is_current(engine: Engine) -> bool:
    """Whether the schema is the one this version of Forge was written for. A file that is not there is not made.

    :raises ConfigurationError: if another version of Forge wrote the database, or its server is too old.
    :raises DatabaseUnavailable: if the database cannot be reached.
    """
    if engine.dialect.name == "sqlite" and not Path(engine.url.database or "").exists():
        return False
    with begin(engine) as connection:
        return _current(connection) == _scripts().get_current_head()


def _current(connection: Connection) -> str | None:
    server = connection.dialect.server_version_info
    if connection.dialect.name == "postgresql" and server is not None and server < _POSTGRESQL:
        raise ConfigurationError(
            f"FORGE_DATABASE_URL: the server is PostgreSQL {'.'.join(map(str, server))}, Forge needs {_POSTGRESQL[0]}.",
            "Use a server of that version or a newer one.",
        )
    current = MigrationContext.configure(connection).get_current_revision()
    if current is not None and current not in {script.revision for script in _scripts().walk_revisions()}:
        raise ConfigurationError(
            f"FORGE_DATABASE_URL: the database has the schema {current[:100]!r} of another version of Forge.",
            "Start that version, or a newer one.",
        )
    return current


def _scripts() -> ScriptDirectory:
    return ScriptDirectory.from_config(_config())
