"""Migrations expand first and contract a release later, so that two versions can share one database."""

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine

import migrations
from memory.db.engine import begin, sync_engine
from tests.databases import Backend, create_database, drop_database
from tests.migrations.expansion import describe_schema, find_losses
from tests.structure import PACKAGES, ROOT, Source

FIRST = "0002"
"""The schema of the first release."""

RELEASED: Mapping[str, str] = {
    "0001": "b9645e96262b2455b02e38311cc24edde7fb15aa1b7eae59fb230b898f3610d2",
    "0002": "442a644c339d9592406ca79f1ee7572afcd6533b9671f4f7a433541451d8e140",
}
"""The migrations that databases of users went through, and the SHA-256 of their files; a release adds its own."""

STEPS = sorted((ROOT / "migrations" / "versions").glob("[0-9]*_*.py"))


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


def test_every_migration_is_written_out() -> None:
    """If this fails: write out what the migration makes. What it took from the code would be another thing after the
    next change of the code, and who already uses Forge would never get it."""
    imported = Source(ROOT, ["migrations/versions"]).imports(PACKAGES)
    assert {step: names for step, names in imported.items() if names} == {}


def test_what_is_released_stays_as_it_is() -> None:
    """If this fails for a migration that was released: take your change back and write a new migration, as databases
    exist that the old text made. If it fails for one that is released now: write it into ``RELEASED``."""
    found = {step.name[:4]: hashlib.sha256(step.read_bytes()).hexdigest() for step in STEPS}
    first = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    waits_for_release = first is not None and first[1] == "Unreleased"
    assert {name: digest for name, digest in found.items() if name in RELEASED or not waits_for_release} == RELEASED


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
