"""Migrations expand first and contract a release later, so that two versions can share one database."""

import re
from pathlib import Path

import pytest
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine

import migrations
from memory.db.engine import begin, sync_engine
from tests.databases import Backend, create_database, drop_database
from tests.migrations.expansion import describe_schema, find_losses

FIRST = "0002"
"""The schema of the first release."""


@pytest.mark.parametrize("backend", ["sqlite", "postgresql"])
def test_every_migration_expands_or_says_whom_it_leaves_behind(backend: Backend, tmp_path: Path) -> None:
    """If this fails: leave what the version before reads, and take it away a release later, in a migration that says
    in ``works_from`` which is the oldest schema whose code does without it (CONTRIBUTING.md, migrations)."""
    url = create_database(backend, tmp_path, migrated=False)
    engine = sync_engine(url)
    migrations.upgrade(engine, FIRST)
    scripts = ScriptDirectory(str(Path(migrations.__file__).parent))
    later = [*scripts.iterate_revisions("head", FIRST)][::-1]
    losses: dict[str, object] = {}
    for script in later:
        with begin(engine) as connection:
            before = describe_schema(connection)
        migrations.upgrade(engine, script.revision)
        with begin(engine) as connection:
            found = find_losses(before, describe_schema(connection))
        if found and getattr(script.module, "works_from", None) is None:
            losses[script.revision] = found
    engine.dispose()
    drop_database(url)
    assert losses == {}


def test_what_is_released_is_written_out() -> None:
    """If this fails: write the tables out in ``0001`` (CONTRIBUTING.md, migrations). Who already uses Forge would never
    get a table that it makes as the code describes it."""
    root = Path(migrations.__file__).parent
    changes = (root.parent / "CHANGELOG.md").read_text(encoding="utf-8")
    is_released = re.search(r"^## (?!.*\(unreleased\)$)", changes, re.MULTILINE) is not None
    described = [step.name for step in root.glob("versions/*.py") if "TableRow" in step.read_text(encoding="utf-8")]
    assert not is_released or described == []


def test_what_is_declared_is_a_schema_of_ours() -> None:
    scripts = ScriptDirectory(str(Path(migrations.__file__).parent))
    known = {script.revision for script in scripts.walk_revisions()}
    declared = {script.module.works_from for script in scripts.walk_revisions() if hasattr(script.module, "works_from")}
    assert declared <= known
    assert known == {each.name[:4] for each in (Path(migrations.__file__).parent / "versions").glob("0*.py")}
    assert migrations.find_oldest(scripts.get_current_head() or "") in known


@pytest.mark.parametrize(
    ("change", "lost"),
    [
        ("ALTER TABLE runs ADD COLUMN mode TEXT", []),
        ("ALTER TABLE runs ADD COLUMN mode TEXT NOT NULL DEFAULT ''", []),
        ("CREATE TABLE gates (id TEXT)", []),
        ("CREATE INDEX by_state ON runs (state)", []),
        ("DROP TABLE events", ["the table events is gone"]),
        ("ALTER TABLE events RENAME TO facts", ["the table events is gone"]),
        ("ALTER TABLE runs DROP COLUMN state", ["the column runs.state is gone"]),
        ("ALTER TABLE runs RENAME COLUMN state TO phase", ["the column runs.state is gone"]),
        ("CREATE UNIQUE INDEX one_state ON runs (state)", ["runs (state) must be unique now"]),
        (
            "DROP TABLE events; CREATE TABLE events (id INTEGER NOT NULL, at TEXT NOT NULL)",
            ["events.id must be given now", "events.at is new and must be given"],
        ),
        ("DROP TABLE events; CREATE TABLE events (id TEXT)", ["events.id was INTEGER and is TEXT"]),
    ],
)
def test_what_counts_as_taking_away(change: str, lost: list[str]) -> None:
    with create_engine("sqlite://").begin() as connection:
        connection.exec_driver_sql("CREATE TABLE runs (id TEXT PRIMARY KEY, state TEXT)")
        connection.exec_driver_sql("CREATE TABLE events (id INTEGER)")
        before = describe_schema(connection)
        for statement in change.split("; "):
            connection.exec_driver_sql(statement)
        assert find_losses(before, describe_schema(connection)) == lost
