"""The migrations make exactly the tables the code describes, on both databases, also with data in them."""

from pathlib import Path
from typing import Any, cast

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

import migrations
from memory import tables
from memory.database import Base, begin, sync_engine
from tests.databases import Backend, drop, fresh

OURS = {str(table.name) for table in tables.Base.metadata.sorted_tables}


@pytest.mark.parametrize("backend", ["sqlite", "postgresql"])
def test_migrated_schema_is_the_described_one(backend: Backend, tmp_path: Path) -> None:
    url = fresh(backend, tmp_path, migrated=False)
    engine = sync_engine(url)
    migrations.upgrade(engine)
    assert migrations.is_current(engine)
    with begin(engine) as connection:
        # SQLite has no types to compare
        options = {"compare_type": backend == "postgresql", "include_name": _is_described}
        context = MigrationContext.configure(connection, opts=options)
        found = cast(list[Any], compare_metadata(context, Base.metadata))
    engine.dispose()
    drop(url)
    assert [change for change in found if "alembic_version" not in str(change)] == []


def _is_described(name: str | None, kind: str, _parents: object) -> bool:
    """The words of memories are searched by each database in its own way, and looked at by the tests of recall."""
    return not (kind == "table" and name is not None and name.startswith("memory_words"))


@pytest.mark.parametrize("backend", ["sqlite", "postgresql"])
def test_rows_of_the_first_version_survive(backend: Backend, tmp_path: Path) -> None:
    url = fresh(backend, tmp_path, migrated=False)
    engine = sync_engine(url)
    migrations.upgrade(engine, "0001")
    with begin(engine) as connection:
        connection.exec_driver_sql(
            "INSERT INTO findings (id, repository_id, number, name, fingerprint, trail, content, first_run, last_run,"
            " created_at) VALUES ('1', 7, 1, 'F-ABCDEF', 'f', 't', '{}', 'r', 'r', '2026-01-01 00:00:00')"
        )
    migrations.upgrade(engine)
    with begin(engine) as connection:
        rows = connection.exec_driver_sql("SELECT name, comment_id FROM findings").all()
    engine.dispose()
    drop(url)
    assert [tuple(row) for row in rows] == [("F-ABCDEF", None)]
