"""The schema of our own tables, step by step, on SQLite and PostgreSQL alike (DBOS migrates its own).

A migration expands: the version of Forge before it goes on working beside the new one. One that takes something away
says in ``works_from`` which is the oldest schema whose code does without that.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import inspect, text

from domain.errors import ConfigurationError
from memory.db.engine import Connection, Engine, begin

if TYPE_CHECKING:
    from alembic.script import ScriptDirectory

_STEPS = Path(__file__).parent / "versions"
_VERSION = "alembic_version"  # the table, with a column of ours beside alembic's
_POSTGRESQL = (14, 0)  # the oldest that counts bits, by which vectors are found


def upgrade(engine: Engine, revision: str = "head") -> None:
    """Bring the schema up to a revision, in one transaction. A newer one that works with this version stays.

    :raises ConfigurationError: if another version of Forge wrote the database, or its server is too old.
    :raises DatabaseUnavailable: if the database cannot be reached or written.
    """
    with begin(engine) as connection:
        current = _current(connection)
        if current == _get_newest() or _is_newer(current):
            return
        _apply(connection, revision)
        _keep_reach(connection)


def count_pending(engine: Engine) -> int:
    """How many migrations :func:`upgrade` would apply at this moment.

    :raises ConfigurationError: as there.
    :raises DatabaseUnavailable: as there.
    """
    with begin(engine) as connection:
        current = _current(connection)
    if _is_newer(current):
        return 0
    return sum(current is None or revision > current for revision in _list_revisions())


def is_current(engine: Engine) -> bool:
    """Whether this version of Forge works with the schema. A file that is not there is not made.

    :raises ConfigurationError: if another version of Forge wrote the database, or its server is too old.
    :raises DatabaseUnavailable: if the database cannot be reached.
    """
    if engine.dialect.name == "sqlite" and not Path(engine.url.database or "").exists():
        return False
    with begin(engine) as connection:
        current = _current(connection)
        return current == _get_newest() or _is_newer(current)


def _current(connection: Connection) -> str | None:
    server = connection.dialect.server_version_info
    if connection.dialect.name == "postgresql" and server is not None and server < _POSTGRESQL:
        raise ConfigurationError(
            f"FORGE_DATABASE_URL: the server is PostgreSQL {'.'.join(map(str, server))}, Forge needs {_POSTGRESQL[0]}.",
            "Use a server of that version or a newer one.",
        )
    current = _read_revision(connection)
    if _is_newer(current) and _load_reach(connection) not in _list_revisions():
        raise ConfigurationError(
            f"FORGE_DATABASE_URL: the database has the schema {str(current)[:100]!r} of another version of Forge, with "
            "which this one does not work.",
            "Start that version, or a newer one.",
        )
    return current


def find_oldest(revision: str) -> str:
    """The oldest schema whose version of Forge works with the schema of a revision."""
    declared = [
        str(script.module.works_from)
        for script in _scripts().iterate_revisions(revision, "base")
        if hasattr(script.module, "works_from")
    ]
    return max(["0001", *declared])


def _is_newer(revision: str | None) -> bool:
    return revision is not None and revision not in _list_revisions()


@cache
def _list_revisions() -> frozenset[str]:
    """Those of this version, by the names of its files: alembic is loaded only where there is something to apply."""
    return frozenset(step.name.partition("_")[0] for step in _STEPS.glob("[0-9]*_*.py"))


def _get_newest() -> str:
    return max(_list_revisions())


def _read_revision(connection: Connection) -> str | None:
    return _read_version(connection).get("version_num")


def _load_reach(connection: Connection) -> str | None:
    return _read_version(connection).get("oldest")


def _read_version(connection: Connection) -> Mapping[str, str]:
    if not inspect(connection).has_table(_VERSION):
        return {}
    return dict(connection.execute(text(f"SELECT * FROM {_VERSION}")).mappings().first() or {})


def _keep_reach(connection: Connection) -> None:
    """Note which versions work with the schema, for those that do not know its migrations."""
    revision = _read_revision(connection)
    if revision is not None:
        connection.execute(text(f"UPDATE {_VERSION} SET oldest = :oldest"), {"oldest": find_oldest(revision)})


def _apply(connection: Connection, revision: str) -> None:
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(_STEPS.parent))
    config.attributes["connection"] = connection
    command.upgrade(config, revision)


def _scripts() -> "ScriptDirectory":
    from alembic.script import ScriptDirectory

    return ScriptDirectory(str(_STEPS.parent))
