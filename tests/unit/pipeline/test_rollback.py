"""A roll-back is carried out once, on the newest state, and never from a damaged chain."""

import asyncio

import pytest
from sqlalchemy import update

from bot.clock import SystemClock
from domain.runs.work_checkpoint import RollbackProblem, RollbackRefusal, WorkKey
from memory.db.engine import Database
from memory.db.tables.runs import OutboxRow, WorkCheckpointRow
from memory.runs import work_checkpoints
from messages.checkpoints import CompletedRollback, refuse_rollback
from pipeline.issue.coding.rollback import RollbackPlace, RollbackRequest, find_checkpoint, take_back
from tests.rows import NOON, run_row
from tests.world.checkpoints import add_chain

HERE = RollbackPlace(10, 1)
KEY = WorkKey(run_id="run", work="implement T1", base="b" * 40)


@pytest.fixture
async def database(database: Database) -> Database:
    async with database.transaction() as session:
        session.add(run_row("run", trigger="issue", state="running", finished_at=None))
    return database


async def test_a_repeated_request_is_carried_out_once(database: Database) -> None:
    """Also after another roll-back came in between: the answer is the one of then."""
    made = await add_chain(database, KEY, NOON)
    asked = RollbackRequest(made[0].short_id, (), "jo", "first")
    first = await take_back(database, SystemClock(), asked, HERE)
    other = await take_back(database, SystemClock(), RollbackRequest(made[1].short_id, (), "jo", "second"), HERE)
    again = await take_back(database, SystemClock(), asked, HERE)
    assert isinstance(first, CompletedRollback)
    assert isinstance(other, CompletedRollback)
    assert again == first
    assert (first.before, other.before) == (made[2], first.made)
    of_run = await work_checkpoints.list_of_run(database, "run")
    assert [*of_run] == [*made, first.made, other.made]


async def test_two_people_at_once_are_both_heard(database: Database) -> None:
    """Whoever comes second decides anew, on what the first one made of it."""
    made = await add_chain(database, KEY, NOON)
    asked = [RollbackRequest(made[number].short_id, (), "jo", str(number)) for number in (0, 1)]
    done = await asyncio.gather(*(take_back(database, SystemClock(), each, HERE) for each in asked))
    assert all(isinstance(each, CompletedRollback) for each in done)
    of_run = await work_checkpoints.list_of_run(database, "run")
    assert [each.number for each in of_run] == [1, 2, 3, 4, 5]
    assert {each.restores for each in of_run[3:]} == {made[0].id, made[1].id}


async def test_a_damaged_chain_restores_nothing(database: Database) -> None:
    made = await add_chain(database, KEY, NOON)
    async with database.transaction() as session:
        await session.execute(update(WorkCheckpointRow).where(WorkCheckpointRow.id == made[1].id).values(content=b"x"))
    refused = await take_back(database, SystemClock(), RollbackRequest(made[0].id, (), "jo", "first"), HERE)
    assert isinstance(refused, RollbackRefusal)
    assert refused.problem is RollbackProblem.broken
    assert "not as they were written" in refuse_rollback(refused)
    assert await work_checkpoints.find_newest(database, KEY) == made[2]


async def test_an_end_that_several_ids_have_is_refused_with_all_of_them(database: Database) -> None:
    made = await add_chain(database, KEY, NOON)
    twins = [f"01J00000000000000000{letter}ZZZZZ" for letter in "AB"]
    async with database.transaction() as session:
        for each, twin in zip(made, twins, strict=False):
            await session.execute(update(WorkCheckpointRow).where(WorkCheckpointRow.id == each.id).values(id=twin))
    async with database.transaction() as session:
        await session.execute(
            update(WorkCheckpointRow).where(WorkCheckpointRow.id == twins[1]).values(id="01J00000000000000001AZZZZZ")
        )
    refused = await find_checkpoint(database, "C-AZZZZZ", HERE)
    assert isinstance(refused, RollbackRefusal)
    assert refused.problem is RollbackProblem.ambiguous
    assert f"`C-{twins[0]}` (2026-05-01 12:00:00 UTC), `C-01J00000000000000001AZZZZZ`" in refuse_rollback(refused)
    found = await find_checkpoint(database, f"C-{twins[0]}", HERE)
    assert not isinstance(found, RollbackRefusal)


async def test_it_is_asked_for_at_the_issue_or_the_pull_request_of_the_run(database: Database) -> None:
    made = await add_chain(database, KEY, NOON)
    opened = {"step": "propose", "kind": "pull_request", "state": "done", "remote_id": 7, "created_at": NOON}
    async with database.transaction() as session:
        session.add(OutboxRow(id="1", run_id="run", done_at=NOON, **opened))
    for place, problem in (
        (RollbackPlace(10, 2), RollbackProblem.elsewhere),
        (RollbackPlace(11, 1), RollbackProblem.unknown),
        (RollbackPlace(10, 7), None),
        (RollbackPlace(10, 1), RollbackProblem.same),
    ):
        asked = RollbackRequest(made[0].short_id, (), "jo", str(place))
        done = await take_back(database, SystemClock(), asked, place)
        assert (done.problem if isinstance(done, RollbackRefusal) else None) is problem
