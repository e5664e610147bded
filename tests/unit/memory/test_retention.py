"""What goes with its time and what stays, on both databases."""

from collections.abc import AsyncGenerator
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import func, select
from ulid import ULID

from domain.commands import Sender
from domain.events import EventType
from domain.runs.run import RepositoryRef
from memory.db.engine import Database, TableRow
from memory.db.tables.deliveries import CommandCountRow, DeliveryRow
from memory.db.tables.repositories import GateRow, MemoryRow
from memory.db.tables.runs import AnswerRow, BudgetRow, CheckpointRow, CircuitRow, EventRow, OutboxRow, RunRow, SpendRow
from memory.deliveries import deliveries
from memory.reports import retention
from memory.reports.retention import BATCH
from memory.repositories import addresses, automation_level, configurations, permits, welcomes
from memory.repositories.configurations import ConfigurationScope
from memory.runs import outbox
from tests.rows import NOON, delivery_row, gate_row, run_row, spend_row

SHOP, BANK, MILL = 2**32 + 10, 2**32 + 11, 2**32 + 12  # keep the usual 90, 7 and 200 days


@pytest.fixture
async def database(url: str) -> AsyncGenerator[Database]:
    opened = Database(url)
    await configurations.keep(
        opened, ConfigurationScope(f"repository {BANK}", 1, False), "sha", {"audit": {"retention_days": 7}}
    )
    await configurations.keep(
        opened, ConfigurationScope("organisation 2", 2, True), "sha", {"audit": {"retention_days": 200}}
    )
    yield opened
    await opened.close()


def _id(days: float) -> str:
    return str(ULID.from_datetime(NOON - timedelta(days=days)))


_PAYLOAD = {"approved": False}


def _of(days: float, repository: int, **more: Any) -> list[TableRow]:
    """A run that ended so many days before noon, with everything that goes with one."""
    at, run_id, installation = NOON - timedelta(days=days), _id(days), 2 if repository == MILL else 1
    there = {"repository_id": repository, "installation_id": installation}
    event: dict[str, Any] = {
        "source": "test",
        "phase": None,
        "payload": _PAYLOAD,
        "tokens": 0,
        "cost": 0.0,
        "duration": None,
    }
    number = more.get("number", repository)
    values: dict[str, Any] = {"finished_at": at, "installation_id": installation, "number": number}
    values["admitted_by"] = f"delivery of {run_id}#{number}"
    rows: list[TableRow] = [
        run_row(run_id, repository, **values),
        EventRow(id=_id(days), trace=run_id, time=at, type="run.completed", **event),
        EventRow(id=_id(days), trace=run_id, time=at, type=EventType.feedback_decided.value, **event),
        OutboxRow(
            id=_id(days), run_id=run_id, step="s", kind="k", state="done", remote_id=1, created_at=at, done_at=at
        ),
        spend_row(_id(days), run_id, 1, reserved_at=at, **there),
        CheckpointRow(id=_id(days), run_id=run_id, phase="review", output={}, time=at),
        AnswerRow(run_id=run_id, question="q", value={}, time=at),
        BudgetRow(scope=f"run:{run_id}/review", granted=1),
        BudgetRow(scope=f"granted by:{run_id}/guid:1:0", granted=1),
        gate_row(_id(days), run_id, "guard", state="void", decided_at=at, **there),
        gate_row(_id(days), run_id, "human_review", decided_at=at, **there),
        gate_row(_id(days), run_id, "destructive", state="expired", decided_at=at, **there),
        delivery_row(f"delivery of {run_id}", repository, received_at=at),
    ]
    return rows


async def _store(database: Database, rows: list[TableRow]) -> None:
    async with database.transaction() as session:
        session.add_all(rows)


async def _count_left(database: Database, run_id: str) -> dict[str, int]:
    """What is left of a run, by kind; the run itself always is."""
    columns: dict[str, tuple[Any, Any]] = {
        "events": (EventRow, EventRow.trace == run_id),
        "outbox": (OutboxRow, OutboxRow.run_id == run_id),
        "spend": (SpendRow, SpendRow.run_id == run_id),
        "checkpoints": (CheckpointRow, CheckpointRow.run_id == run_id),
        "answers": (AnswerRow, AnswerRow.run_id == run_id),
        "budgets": (BudgetRow, BudgetRow.scope.contains(f":{run_id}/")),
        "gates": (GateRow, GateRow.run_id == run_id),
        "deliveries": (DeliveryRow, DeliveryRow.guid == f"delivery of {run_id}"),
    }
    async with database.transaction() as session:
        assert await session.get(RunRow, run_id) is not None
        counts = {
            name: await session.scalar(select(func.count()).select_from(table).where(where))
            for name, (table, where) in columns.items()
        }
    return {name: count for name, count in counts.items() if count}


WHOLE = {
    "events": 2,
    "outbox": 1,
    "spend": 1,
    "checkpoints": 1,
    "answers": 1,
    "budgets": 2,
    "gates": 3,
    "deliveries": 1,
}
WITHOUT_CODE = {name: count for name, count in WHOLE.items() if name != "answers"}
BARE = {"events": 1, "gates": 2}  # that somebody decided, which the ladder counts, and the disputed gate


@pytest.mark.parametrize(
    ("repository", "days", "left"),
    [
        (SHOP, 13, WHOLE),
        (SHOP, 89, WITHOUT_CODE),
        (SHOP, 91, BARE),
        (SHOP, 366, {"events": 1, "gates": 1}),
        (BANK, 6, WHOLE),
        (BANK, 7.5, {**BARE, "answers": 1, "outbox": 1, "deliveries": 1, "budgets": 2}),
        (BANK, 15, {**BARE, "budgets": 2}),
        (MILL, 199, {name: count for name, count in WITHOUT_CODE.items() if name != "budgets"}),
        (MILL, 201, BARE),
    ],
)
async def test_each_kind_has_its_time(repository: int, days: float, left: dict[str, int], database: Database) -> None:
    rows = _of(days, repository)
    await _store(database, rows)
    await _store(database, _of(1, SHOP, number=99))
    found = await retention.load_terms(database)
    assert found == {number: time for number, time in ((BANK, 7), (MILL, 200)) if number == repository}
    await retention.remove(database, found, NOON)
    assert await _count_left(database, _run_of(rows)) == left
    assert await retention.remove(database, found, NOON) == {}


async def test_who_commented_is_known_for_an_hour(database: Database) -> None:
    for guid, minutes in (("old", 61), ("new", 59)):
        await deliveries.count_comment(database, guid, SHOP, 2, NOON - timedelta(minutes=minutes))
    assert await retention.remove(database, {}, NOON) == {"commanded": 1}
    await retention.forget_repositories(database, [SHOP])
    async with database.transaction() as session:
        assert (await session.scalars(select(CommandCountRow.guid))).all() == []


async def test_nothing_goes_of_a_run_that_is_not_over(database: Database) -> None:
    rows = _of(100, SHOP)
    run = rows[0]
    assert isinstance(run, RunRow)
    run.state, run.finished_at = "waiting", None
    await _store(database, rows)
    await retention.remove(database, {}, NOON)
    assert await _count_left(database, run.id) == WHOLE
    async with database.transaction() as session:
        gate = await session.scalar(select(GateRow).where(GateRow.name == "human_review"))
    assert gate is not None
    assert (gate.decision or {})["words"] == "log it"
    run.state, run.finished_at = "completed", NOON - timedelta(days=91)
    async with database.transaction() as session:
        await session.merge(run)
    await retention.remove(database, {}, NOON)
    assert await _count_left(database, run.id) == BARE


async def test_an_old_answered_gate_keeps_nothing_but_its_answer(database: Database) -> None:
    rows = _of(91, SHOP)
    await _store(database, rows)
    await retention.remove(database, {}, NOON)
    async with database.transaction() as session:
        gate = await session.scalar(select(GateRow).where(GateRow.name == "human_review"))
    assert gate is not None
    assert gate.state == "approved"
    assert gate.request["reasons"] == []
    assert "carol" not in str(gate.decision)
    assert "log it" not in str(gate.decision)


async def test_that_forge_merged_stays_for_a_late_revert(database: Database) -> None:
    rows = _of(91, SHOP)
    run = rows[0]
    assert isinstance(run, RunRow)
    await _store(database, rows)
    for act in ("auto_approve", "auto_merge"):
        await automation_level.record_action(database, run.as_run(), act, NOON - timedelta(days=91), {})
    async with database.transaction() as session:
        for event in await session.scalars(select(EventRow).where(EventRow.type == EventType.ladder_acted.value)):
            event.id = str(ULID.from_datetime(NOON - timedelta(days=91)))
    await retention.remove(database, {}, NOON)
    assert [told["act"] for told in await automation_level.list_actions(database, run.id)] == ["auto_merge"]
    assert await automation_level.was_approved(database, run.id)


async def test_an_approval_is_known_until_the_repository_is_long_lost(database: Database) -> None:
    at, run_id = NOON - timedelta(days=400), _id(400)
    approval = {"step": outbox.APPROVAL, "kind": "review", "state": "done", "remote_id": 1, "created_at": at}
    await _store(database, [run_row(run_id, SHOP, finished_at=at)])
    await _store(database, [OutboxRow(id=run_id, run_id=run_id, done_at=at, **approval)])
    assert await retention.remove(database, {SHOP: 1}, NOON) == {}
    assert await _count_left(database, run_id) == {"outbox": 1}

    await addresses.note_purged(database, [SHOP], NOON)
    await retention.forget_repositories(database, [SHOP])
    assert await retention.remove(database, {}, NOON + timedelta(days=59)) == {}
    assert await retention.remove(database, {}, NOON + timedelta(days=61)) == {"outbox": 1, "purges": 1}
    assert await _count_left(database, run_id) == {}


async def test_a_replaced_checkpoint_goes_with_the_code(database: Database) -> None:
    old, newer = _of(20, SHOP), _of(16, SHOP)
    await _store(database, old)
    await _store(database, newer)
    await retention.remove(database, {}, NOON)
    assert "checkpoints" not in await _count_left(database, _run_of(old))
    assert "checkpoints" in await _count_left(database, _run_of(newer))


async def test_many_rows_go_in_batches(database: Database) -> None:
    many = [row for _ in range(BATCH + 5) for row in [spend_row(_id(100), "gone", 1)]]
    for row in many:
        row.reserved_at = NOON - timedelta(days=100)
    await _store(database, [*many])
    assert await retention.remove(database, {}, NOON) == {"spend": BATCH + 5}


async def test_what_is_lost_is_forgotten(database: Database) -> None:
    lost, kept = _of(1, SHOP), _of(1, BANK)
    memory: dict[str, Any] = {
        "kind": "semantic",
        "content": "c",
        "context": "",
        "tags": [],
        "confidence": 0.7,
        "source": "s",
    }
    times: dict[str, Any] = {"created_at": NOON, "used_at": NOON, "last_accessed": NOON, "access_count": 0}
    await _store(database, [*lost, *kept])
    await _store(
        database,
        [
            MemoryRow(id="1", repository_id=SHOP, **memory, **times),
            MemoryRow(id="2", repository_id=BANK, **memory, **times),
            CircuitRow(repository_id=SHOP, provider="anthropic", circuit={}),
        ],
    )
    await retention.forget_repositories(database, [SHOP])
    assert await _count_left(database, _run_of(lost)) == {
        name: count for name, count in WHOLE.items() if name not in {"answers", "gates"}
    }
    assert await _count_left(database, _run_of(kept)) == WHOLE
    async with database.transaction() as session:
        assert [*await session.scalars(select(MemoryRow.id))] == ["2"]
        assert await session.scalar(select(func.count()).select_from(CircuitRow)) == 0


async def test_of_what_was_decided_about_a_lost_repository_only_the_welcome_stays(database: Database) -> None:
    """The others' rows stay as they are, and whatever comes first leaves the rest of a row alone."""
    carol = Sender(id=3, login="carol")
    both = [RepositoryRef(installation_id=1, id=each, owner="acme", name=str(each)) for each in (SHOP, BANK)]
    for where in both:
        await permits.pause(database, where, carol, NOON)
        await permits.pause(database, where, Sender(id=4, login="dave"), NOON)
        assert await automation_level.set_level(database, where.id, 2, "carol", f"guid {where.id}", NOON) == 1
        await automation_level.record_missed_bug(database, where, 7, None, "carol", "a crash", f"{where.id}", NOON)
        assert await welcomes.claim(database, where, "installed")
    await addresses.note_purged(database, [SHOP], NOON)
    await retention.forget_repositories(database, [SHOP])
    lost, kept = [
        (
            await permits.find_pauser(database, where),
            await automation_level.get_level(database, where.id),
            (await automation_level.load_facts(database, where.id)).missed,
            await welcomes.find(database, where.id),
        )
        for where in both
    ]
    assert lost == (None, 1, [], "installed")
    assert kept == ("carol", 2, [NOON], "installed")
    assert await addresses.list_purged(database) == [SHOP]


def _run_of(rows: list[TableRow]) -> str:
    run = rows[0]
    assert isinstance(run, RunRow)
    return run.id
