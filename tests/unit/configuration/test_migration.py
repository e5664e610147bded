"""The migration makes the table that the models describe, and can take it back."""

from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from sqlalchemy import inspect

import migrations
from memory.db.engine import TableRow, begin, sync_engine
from tests.databases import Backend, create_database, drop_database

TABLE = "configurations"


@pytest.mark.parametrize("backend", ["sqlite", "postgresql"])
def test_the_table_is_the_one_of_the_models(backend: Backend, tmp_path: Path) -> None:
    url = create_database(backend, tmp_path, migrated=False)
    engine = sync_engine(url)
    migrations.upgrade(engine, "0003")
    with begin(engine) as connection:
        differences = compare_metadata(MigrationContext.configure(connection), TableRow.metadata)
        assert [one for one in differences if TABLE in repr(one)] == []
        config = Config()
        config.set_main_option("script_location", str(Path(migrations.__file__).parent))
        config.attributes["connection"] = connection
        command.downgrade(config, "0002")
        assert TABLE not in inspect(connection).get_table_names()
    engine.dispose()
    drop_database(url)
