"""The migrations make exactly the tables the code describes, on both databases, also with data in them."""

import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import pytest
from alembic import op
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import inspect

import migrations
from domain.errors import ConfigurationError
from memory.db.engine import Engine, TableRow, begin, sync_engine
from tests.databases import Backend, create_database, drop_database

OURS = {str(table.name) for table in TableRow.metadata.sorted_tables}


@pytest.mark.parametrize("backend", ["sqlite", "postgresql"])
def test_migrated_schema_is_the_described_one(backend: Backend, tmp_path: Path) -> None:
    url = create_database(backend, tmp_path, migrated=False)
    engine = sync_engine(url)
    migrations.upgrade(engine)
    assert migrations.is_current(engine)
    with begin(engine) as connection:
        # SQLite has no types to compare
        options = {"compare_type": backend == "postgresql", "include_name": _is_described}
        context = MigrationContext.configure(connection, opts=options)
        found = cast(list[Any], compare_metadata(context, TableRow.metadata))
    engine.dispose()
    drop_database(url)
    assert [change for change in found if "alembic_version" not in str(change)] == []


def _is_described(name: str | None, kind: str, _parents: object) -> bool:
    """The words of memories are searched by each database in its own way, and looked at by the tests of recall."""
    return not (kind == "table" and name is not None and name.startswith("memory_words"))


@pytest.mark.parametrize("backend", ["sqlite", "postgresql"])
def test_a_migration_that_dies_changes_nothing(
    backend: Backend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = create_database(backend, tmp_path, migrated=False)
    engine = sync_engine(url)
    migrations.upgrade(engine, "0001")
    before = _describe(engine)

    with monkeypatch.context() as patched:
        patched.setattr(op, "get_bind", _die)
        with pytest.raises(MemoryError):
            migrations.upgrade(engine)
    assert _describe(engine) == before
    migrations.upgrade(engine)
    assert migrations.is_current(engine)
    engine.dispose()
    drop_database(url)


def _die(*_: object, **__: object) -> None:
    raise MemoryError


def _describe(engine: Engine) -> Mapping[str, Sequence[str]]:
    seen = inspect(engine)
    return {table: [column["name"] for column in seen.get_columns(table)] for table in seen.get_table_names()}


STAYS = """
import asyncio, sys
import migrations
from bot.current_database import migrate
from memory.db.engine import sync_engine
engine = sync_engine(sys.argv[1])
asyncio.run(migrate(engine))
print(migrations.is_current(engine), "alembic" in sys.modules)
"""


@pytest.mark.parametrize("backend", ["sqlite", "postgresql"])
def test_a_process_that_stays_does_not_load_what_only_migrations_need(backend: Backend, tmp_path: Path) -> None:
    """They are most of what a first start held more than a later one."""
    url = create_database(backend, tmp_path, migrated=False)
    done = subprocess.run([sys.executable, "-c", STAYS, url], capture_output=True, text=True, check=True)
    assert done.stdout.split()[-2:] == ["True", "False"]
    drop_database(url)


def test_a_server_that_is_too_old_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    url = create_database("postgresql", tmp_path)
    engine = sync_engine(url)
    assert migrations.is_current(engine)
    monkeypatch.setattr(engine.dialect, "server_version_info", (13, 22))
    for look in (migrations.is_current, migrations.upgrade):
        with pytest.raises(ConfigurationError, match=r"the server is PostgreSQL 13\.22, Forge needs 14\."):
            look(engine)
    engine.dispose()
    drop_database(url)


RUN, ISSUE_RUN, WAITING_RUN, OLDER_RUN, GONE_RUN = (f"01J00000000000000000AAAAA{letter}" for letter in "ABCDE")
