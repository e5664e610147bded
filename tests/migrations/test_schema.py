"""The migrations make exactly the tables the code describes, on both databases, also with data in them."""

import json
import math
from array import array
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest
from alembic import op
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import column, insert, inspect, select, table

import migrations
from domain.errors import ConfigurationError
from domain.events import Event, EventType
from domain.memories.memory import Archived
from domain.review.avoidance import DetectorRecord
from domain.review.judgements import FindingJudgement, JudgementKind
from memory.db.engine import Connection, Database, Engine, TableRow, begin, sync_engine, upsert
from memory.db.tables.learned import MemoryRow, MemoryVectorRow
from memory.db.tables.ledger import EventRow
from memory.db.tables.runs import ScheduledCheckRow, WaitRow
from memory.findings import detectors, judgements
from memory.learned.memories import archive, to_row
from memory.learned.vectors import Vector, keep, list_missing
from memory.ledger.ledger import SELECT_MOVES, parse_moves
from memory.runs import recoveries
from tests.databases import Backend, create_database, drop_database
from tests.rows import NOON, active_run
from tests.unit.domain.recoveries import build_attempt
from tests.unit.memories.records import SHOP, build_memory

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
def test_rows_of_the_first_version_survive(backend: Backend, tmp_path: Path) -> None:
    url = create_database(backend, tmp_path, migrated=False)
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
    drop_database(url)
    assert [tuple(row) for row in rows] == [("F-ABCDEF", None)]


@pytest.mark.parametrize("backend", ["sqlite", "postgresql"])
def test_who_pushed_before_is_known_still(backend: Backend, tmp_path: Path) -> None:
    """And counts as no proposal made on a page."""
    url = create_database(backend, tmp_path, migrated=False)
    engine = sync_engine(url)
    migrations.upgrade(engine, "0039")
    with begin(engine) as connection:
        connection.exec_driver_sql(
            "INSERT INTO pushes (repository_id, number, head_sha, by_id, at) VALUES"
            " (7, 1, 'a', 3, '2026-01-02 00:00:00'), (7, 2, 'a', 3, '2026-01-01 00:00:00')"
        )
    migrations.upgrade(engine)
    with begin(engine) as connection:
        rows = connection.exec_driver_sql("SELECT head_sha, by_id, pusher, before_sha FROM branch_pushes").all()
        left = connection.exec_driver_sql("SELECT count(*) FROM pushes").scalar_one()
    engine.dispose()
    drop_database(url)
    assert ([tuple(row) for row in rows], left) == ([("a", 3, "person", "")], 0)


@pytest.mark.parametrize("backend", ["sqlite", "postgresql"])
def test_runs_of_before_keep_the_name_of_their_check(backend: Backend, tmp_path: Path) -> None:
    url = create_database(backend, tmp_path, migrated=False)
    engine = sync_engine(url)
    migrations.upgrade(engine, "0016")
    with begin(engine) as connection:
        connection.exec_driver_sql(
            "INSERT INTO runs (id, admitted_by, installation_id, repository_id, owner, name, number, head_sha,"
            " base_sha, trigger, attempt, fence, state, reason, detail, created_at)"
            " VALUES ('1', 'd#1', 3, 7, 'o', 'r', 1, 'h',"
            " 'b', 'pull_request', 1, 1, 'completed', '', '', '2026-01-01 00:00:00')"
        )
    migrations.upgrade(engine)
    with begin(engine) as connection:
        rows = connection.exec_driver_sql("SELECT base_ref, check_name, mode FROM runs").all()
    engine.dispose()
    drop_database(url)
    assert [tuple(row) for row in rows] == [("", "Forge / review", None)]


@pytest.mark.parametrize("backend", ["sqlite", "postgresql"])
def test_deliveries_of_the_version_before_are_kept(backend: Backend, tmp_path: Path) -> None:
    """They are known by their GUIDs alone, as what code of that version stores meanwhile."""
    url = create_database(backend, tmp_path, migrated=False)
    engine = sync_engine(url)
    stored = "INSERT INTO deliveries (guid, event, action, received_at, outcome, reason) VALUES"
    moment = "'2026-01-01 00:00:00', 'accepted', ''"
    migrations.upgrade(engine, "0020")
    with begin(engine) as connection:
        connection.exec_driver_sql(f"{stored} ('a', 'issues', 'closed', {moment}), ('b', 'issues', 'closed', {moment})")
    migrations.upgrade(engine)
    with begin(engine) as connection:
        connection.exec_driver_sql(f"{stored} ('c', 'issues', 'closed', {moment})")
        rows = connection.exec_driver_sql("SELECT guid, acts_once FROM deliveries ORDER BY guid").all()
    engine.dispose()
    drop_database(url)
    assert [tuple(row) for row in rows] == [("a", None), ("b", None), ("c", None)]


@pytest.mark.parametrize("backend", ["sqlite", "postgresql"])
def test_moves_of_the_version_before_are_found(backend: Backend, tmp_path: Path) -> None:
    """The index of them is another one, and whoever goes back has the one before."""
    url = create_database(backend, tmp_path, migrated=False)
    engine = sync_engine(url)
    migrations.upgrade(engine, "0018")
    kinds = [EventType.run_started, EventType.tool_executed, EventType.run_waiting]
    told = [Event(id=str(n), trace="r", time=NOON, source="s", type=kind) for n, kind in enumerate(kinds)]
    with begin(engine) as connection:
        connection.execute(insert(EventRow), [each.model_dump() for each in told])
    migrations.upgrade(engine)
    with begin(engine) as connection:
        assert [move.running for move in parse_moves(connection.execute(SELECT_MOVES, {"run": "r"}))] == [True, False]
        if backend == "sqlite":
            assert "USING INDEX events_of_moves" in str(_plan(connection))
    engine.dispose()
    drop_database(url)


def _plan(connection: Connection) -> Sequence[Any]:
    asked = SELECT_MOVES.params(run="r").compile(connection.engine, compile_kwargs={"literal_binds": True})
    return connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {asked}").all()


@pytest.mark.parametrize("backend", ["sqlite", "postgresql"])
def test_a_migration_that_dies_changes_nothing(
    backend: Backend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = create_database(backend, tmp_path, migrated=False)
    engine = sync_engine(url)
    migrations.upgrade(engine, "0015")
    before = _describe(engine)

    with monkeypatch.context() as patched:
        patched.setattr(op, "create_index", _die)
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


@pytest.mark.parametrize("backend", ["sqlite", "postgresql"])
async def test_vectors_of_the_version_before_are_as_new_ones(backend: Backend, tmp_path: Path) -> None:
    url = create_database(backend, tmp_path, migrated=False)
    engine = sync_engine(url)
    migrations.upgrade(engine, "0015")
    names = [each["name"] for each in inspect(engine).get_columns("memories")]
    there = table("memories", *(column(name, MemoryRow.__table__.c[name].type) for name in names))
    memories = [build_memory(f"Prices are whole cents {number}.") for number in range(3)]
    made = [[math.sin(place) for place in range(length)] for length in (2, 9, 600)]
    with begin(engine) as connection:
        for memory, numbers in zip(memories, made, strict=True):
            row = to_row(memory)
            connection.execute(insert(there).values({name: getattr(row, name) for name in names}))
            length = math.hypot(*numbers)
            vector = array("f", [number / length for number in numbers]).tobytes()
            known = {"repository_id": SHOP.id, "memory_id": memory.id, "model": "ours", "vector": vector}
            connection.execute(insert(table("memory_vectors", *map(column, known))).values(known))
    migrations.upgrade(engine)
    engine.dispose()

    database = Database(url)
    assert await list_missing(database, SHOP.id, "ours") == []
    await keep(database, memories, [Vector("new", numbers) for numbers in made])
    columns = MemoryVectorRow.memory_id, MemoryVectorRow.vector, MemoryVectorRow.dimensions, MemoryVectorRow.signs
    async with database.transaction() as session:
        old, new = [
            (await session.execute(select(*columns).where(MemoryVectorRow.model == model).order_by(columns[0]))).all()
            for model in ("ours", "new")
        ]
    assert old == new
    await archive(database, [memory.id for memory in memories], Archived.unused, NOON)
    async with database.transaction() as session:
        assert (await session.scalars(select(MemoryVectorRow.memory_id))).all() == []
    await database.close()
    drop_database(url)


RUN, ISSUE_RUN, WAITING_RUN, OLDER_RUN, GONE_RUN = (f"01J00000000000000000AAAAA{letter}" for letter in "ABCDE")
SENDER = 2_412_345_678


@pytest.mark.parametrize("backend", ["sqlite", "postgresql"])
@pytest.mark.parametrize("is_running", [False, True])
def test_own_columns_have_what_texts_said(backend: Backend, is_running: bool, tmp_path: Path) -> None:
    """What the version before wrote before the update, and what its processes write after it, while they still run."""
    url = create_database(backend, tmp_path, migrated=False)
    engine = sync_engine(url)
    migrations.upgrade(engine, "0024" if is_running else "0023")
    with begin(engine) as connection:
        _write_texts(connection)
    migrations.upgrade(engine)
    with begin(engine) as connection:
        checks = connection.exec_driver_sql("SELECT run_id, cause, number FROM scheduled_checks ORDER BY run_id").all()
        due = connection.scalars(select(ScheduledCheckRow.due)).all()
        waits = connection.exec_driver_sql("SELECT workflow_id FROM waits").all()
        runs = connection.exec_driver_sql("SELECT id, ended_by, resumed_by, sender_id FROM runs ORDER BY id").all()
        tests = connection.exec_driver_sql("SELECT id, head_sha, occasion FROM outbox ORDER BY id").all()
    engine.dispose()
    drop_database(url)
    assert [tuple(row) for row in checks] == [
        (RUN, "head", 3),
        (ISSUE_RUN, "contracts", 4),
        (WAITING_RUN, "tests", 1_767_225_600),
        (GONE_RUN, "head", 0),
    ]
    assert set(due) == {NOON}
    assert [tuple(row) for row in waits] == [(RUN,)]
    assert [tuple(row) for row in runs] == [
        (RUN, None, None, SENDER),
        (ISSUE_RUN, "7d8e", None, None),
        (WAITING_RUN, None, "9f0a", None),
        (OLDER_RUN, RUN, None, None),
    ]
    assert [tuple(row) for row in tests] == [("1", "a" * 40, "on request 2"), ("2", None, None), ("3", None, None)]


def _write_texts(connection: Connection) -> None:
    """As code of the version before does it: rows first, their details later."""
    moment = NOON.isoformat(sep=" ")
    command = json.dumps({"sender": {"id": SENDER, "login": "alice"}})
    connection.exec_driver_sql(
        "INSERT INTO deliveries (guid, event, action, received_at, outcome, reason, command)"
        f" VALUES ('5b6c', 'pull_request', 'opened', '{moment}', 'accepted', '', '{command}')"
    )
    for number, (run, by, trigger, state, detail) in enumerate(
        [
            (RUN, "5b6c", "pull_request", "running", ""),
            (ISSUE_RUN, "gone", "issue", "cancelled", "ended by delivery 7d8e"),
            (WAITING_RUN, "gone", "issue", "waiting", "taken up again by 9f0a"),
            (OLDER_RUN, "gone", "pull_request", "cancelled", f"superseded by {RUN}"),
        ],
        start=9,
    ):
        connection.exec_driver_sql(
            "INSERT INTO runs (id, admitted_by, installation_id, repository_id, owner, name, number, head_sha,"
            f" base_sha, trigger, attempt, fence, state, reason, detail, created_at) VALUES ('{run}', '{by}#{number}',"
            f" 3, 7, 'o', 'r', {number}, 'h', 'b', '{trigger}', 1, 1, 'pending', '', '', '{moment}')"
        )
        connection.exec_driver_sql(f"UPDATE runs SET state = '{state}', detail = '{detail}' WHERE id = '{run}'")
    looks = {RUN: 3, ISSUE_RUN: 1_004, WAITING_RUN: 1_767_225_600, GONE_RUN: 0}
    waits = [(f"{run}/look", f"look {number}") for run, number in looks.items()]
    for workflow, reason in [(f"{RUN}/look", "look 2"), (RUN, "rate limit"), *waits]:
        connection.execute(
            upsert(connection.dialect.name, WaitRow, {"workflow_id": workflow, "until": NOON, "reason": reason}, {})
        )
    steps = {"1": f"tests {'a' * 40} on request 2: queued", "2": "queued", "3": f"tests {'a' * 40} 2: concluded"}
    for key, step in steps.items():
        connection.exec_driver_sql(
            "INSERT INTO outbox (id, run_id, step, kind, state, created_at)"
            f" VALUES ('{key}', '{RUN}', '{step}', 'check', 'done', '{moment}')"
        )


@pytest.mark.parametrize("backend", ["sqlite", "postgresql"])
async def test_attempts_to_recover_stand_beside_runs_of_before(backend: Backend, tmp_path: Path) -> None:
    """A run of the version before, whose agent is caught after the update, once for each try."""
    url = create_database(backend, tmp_path, migrated=False)
    engine = sync_engine(url)
    migrations.upgrade(engine, "0026")
    with begin(engine) as connection:
        connection.exec_driver_sql(
            "INSERT INTO runs (id, admitted_by, installation_id, repository_id, owner, name, number, head_sha,"
            " base_sha, trigger, attempt, fence, state, reason, detail, created_at)"
            " VALUES ('run', 'd#1', 1, 10, 'octo-org', 'shop', 1, 'a',"
            " 'b', 'issue', 1, 1, 'running', '', '', '2026-01-01 00:00:00')"
        )
    migrations.upgrade(engine)
    engine.dispose()

    database, caught = Database(url), build_attempt(1)
    await recoveries.add(database, active_run("run"), caught, [])
    await recoveries.add(database, active_run("run"), caught.model_copy(update={"id": "again"}), [])
    assert await recoveries.list_of_issue(database, 10, 1) == [caught]
    await database.close()
    drop_database(url)


@pytest.mark.parametrize("backend", ["sqlite", "postgresql"])
async def test_what_was_dismissed_before_is_judged_beside_it(backend: Backend, tmp_path: Path) -> None:
    """A dismissal of the version before counts for its detector, and a judgement after the update makes up for it."""
    url = create_database(backend, tmp_path, migrated=False)
    engine = sync_engine(url)
    migrations.upgrade(engine, "0026")
    with begin(engine) as connection:
        for number in (1, 2):
            content = json.dumps({"rule": "avoidance/test-removed"})
            connection.exec_driver_sql(
                "INSERT INTO findings (id, repository_id, number, name, fingerprint, trail, content, first_run,"
                f" last_run, created_at) VALUES ('{number}', 10, 1, 'F-{number}', '{number}', '', '{content}', 'r',"
                " 'r', '2026-01-01 00:00:00')"
            )
        connection.exec_driver_sql(
            "INSERT INTO dismissals (id, repository_id, number, name, fingerprint, rule, path, by_id, by_login, reason,"
            " memory_id, created_at) VALUES ('d', 10, 1, 'F-1', '1', 'avoidance/test-removed', 'a.py', 1, 'bob', 'no',"
            " '', '2026-01-01 00:00:00')"
        )
    migrations.upgrade(engine)
    engine.dispose()

    database = Database(url)
    right = FindingJudgement(
        number=1,
        name="F-2",
        fingerprint="2",
        rule="avoidance/test-removed",
        path="a.py",
        kind=JudgementKind.violation,
        words="it matters",
        by_id=1,
        by_login="bob",
        role="write",
        head_sha="a" * 40,
        shown="0" * 16,
        asked_at=NOON,
        at=NOON,
    )
    repository = active_run("r").repository
    assert await judgements.add(database, repository, right, "command")
    assert not await judgements.add(database, repository, right, "command")
    assert await judgements.load_standing(database, 10, 1, ["1", "2"]) == {"2": right}
    since = datetime(2025, 1, 1, tzinfo=UTC)
    records = await detectors.load_records(database, 10, since)
    assert records == {"avoidance/test-removed": DetectorRecord(1, 1, 1)}
    await database.close()
    drop_database(url)
