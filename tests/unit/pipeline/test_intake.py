"""What becomes of deliveries that are stored and queued together, on both databases."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import text

from domain.errors import DatabaseUnavailable
from domain.github.commits import Push, Pusher
from domain.runs.run import RepositoryRef
from memory.db.engine import Database, Engine, begin, sync_engine
from memory.deliveries import deliveries, pushes
from memory.deliveries.deliveries import ReceivedDelivery
from pipeline.deliveries.intake import Intake
from pipeline.durable.queues import DELIVERY
from pipeline.worker.queues import build_client
from tests.threats.outages import disconnect, outage

WANTED = ReceivedDelivery(
    guid="wanted",
    event="pull_request",
    action="opened",
    received_at=datetime(2026, 1, 2, 3, 4, 5, 6789, UTC),
    command={"kind": "of the future", "title": 'zażółć "{guid}" \\ 🎈'},
    reason="",
)
IGNORED = replace(WANTED, guid="ignored", command=None, reason="unknown_event")
HOSTILE = "a\"b\\c{guid}'%s"


@asynccontextmanager
async def open_intake(url: str, patience: float = 3.0) -> AsyncGenerator[tuple[Intake, Engine]]:
    engine = sync_engine(url, busy_seconds=patience, urgent=True)
    intake = Intake(engine, build_client(engine), patience)
    intake.start()
    yield intake, engine
    await intake.stop()
    engine.dispose()


def read(engine: Engine, table: str, key: str) -> dict[str, dict[str, Any]]:
    """The rows of a table by their key."""
    with begin(engine) as connection:
        return {row[key]: dict(row) for row in connection.execute(text(f"SELECT * FROM {table}")).mappings()}


def read_queue(engine: Engine, table: str) -> dict[str, dict[str, Any]]:
    """What DBOS keeps of each workflow, without moments and what is drawn by lot."""
    schema = "" if engine.dialect.name == "sqlite" else "dbos."
    drawn = {"created_at", "updated_at", "retention_timestamp", "creator_xid"}
    found = read(engine, schema + table, "workflow_uuid")
    return {guid: {name: value for name, value in row.items() if name not in drawn} for guid, row in found.items()}


async def test_work_is_queued_as_dbos_itself_queues_it(url: str) -> None:
    async with open_intake(url) as (intake, engine):
        assert await asyncio.gather(intake.accept(WANTED), intake.accept(replace(WANTED, guid=HOSTILE))) == [True, True]
        client = build_client(engine)
        with begin(engine) as connection:
            client.enqueue_in_transaction(connection, DELIVERY.build_options(guid="by DBOS"), "by DBOS")
        statuses, inputs = read_queue(engine, "workflow_status"), read_queue(engine, "workflow_input")
        for guid in ("wanted", HOSTILE):
            assert statuses[guid] == statuses["by DBOS"] | {"workflow_uuid": guid}
            assert client.retrieve_workflow(guid).get_status().input == {"args": (guid,), "kwargs": {}}
        assert inputs["wanted"]["inputs"] == inputs["by DBOS"]["inputs"].replace("by DBOS", "wanted")


async def test_of_a_group_each_acts_once(url: str) -> None:
    async with open_intake(url) as (intake, engine):
        one, other = (replace(WANTED, guid=guid, acts_once="the same") for guid in ("one", "other"))
        group = [intake.accept(each) for each in (WANTED, WANTED, IGNORED, one, other)]
        assert await asyncio.gather(*group) == [True, False, True, True, False]
        assert not await intake.accept(WANTED)
        assert read(engine, "deliveries", "guid").keys() == {"wanted", "ignored", "one"}
        assert read_queue(engine, "workflow_status").keys() == {"wanted", "one"}


async def test_what_a_delivery_said_is_stored_to_the_letter(database: Database, url: str) -> None:
    async with open_intake(url) as (intake, _):
        await asyncio.gather(intake.accept(WANTED), intake.accept(IGNORED))
    wanted, ignored = [await deliveries.find(database, guid) for guid in ("wanted", "ignored")]
    assert wanted is not None
    assert ignored is not None
    assert (wanted.command, wanted.outcome, wanted.finished_at) == (WANTED.command, "accepted", None)
    assert (wanted.received_at, wanted.event, wanted.action) == (WANTED.received_at, "pull_request", "opened")
    assert (ignored.command, ignored.outcome, ignored.reason) == (None, "ignored", "unknown_event")
    assert ignored.finished_at == IGNORED.received_at


async def test_who_pushed_is_stored_with_the_delivery(database: Database, url: str) -> None:
    """Also of an event that asks for nothing; the first of a head by an account stays."""
    where = RepositoryRef(installation_id=1, id=7, owner="octo-org", name="shop")
    first = Push("a" * 40, "b" * 40, 3_000_000_000, Pusher.person, IGNORED.received_at)
    later = replace(first, before="", at=first.at + timedelta(hours=1))
    by_app = replace(first, by_id=2, by=Pusher.app)
    async with open_intake(url) as (intake, _):
        for guid, pushed in (("one", [first, by_app]), ("two", [later])):
            group = [
                replace(IGNORED, guid=f"{guid} {number}", pushes=[pushes.build_row(where.id, each)])
                for number, each in enumerate(pushed)
            ]
            assert all(await asyncio.gather(*map(intake.accept, group)))
    found = await pushes.load(database, {where.id}, [first.after])
    assert sorted(found, key=lambda push: push.by_id) == [by_app, first]


@pytest.mark.parametrize("url", ["postgresql"], indirect=True)
async def test_one_that_cannot_be_stored_harms_no_other(url: str) -> None:
    async with open_intake(url) as (intake, engine):
        bad = replace(WANTED, guid="bad", reason="\0")
        group = (WANTED, bad, replace(WANTED, guid="also wanted"))
        answers = await asyncio.gather(*map(intake.accept, group), return_exceptions=True)
        assert answers[0] is answers[2] is True
        assert isinstance(answers[1], Exception)
        assert not isinstance(answers[1], DatabaseUnavailable)
        assert read_queue(engine, "workflow_status").keys() == {"wanted", "also wanted"}


@pytest.mark.parametrize("url", ["postgresql"], indirect=True)
async def test_connections_that_end_lose_nothing(url: str) -> None:
    async with open_intake(url) as (intake, engine):
        group = [replace(WANTED, guid=str(number)) for number in range(30)]
        for start in range(0, len(group), 10):
            waiting = [asyncio.create_task(intake.accept(each)) for each in group[start : start + 10]]
            await disconnect(url)
            await asyncio.gather(*waiting)
        assert read(engine, "deliveries", "guid").keys() == {each.guid for each in group}
        assert read_queue(engine, "workflow_status").keys() == {each.guid for each in group}


async def test_a_database_that_is_away_is_told_within_the_patience(url: str) -> None:
    async with open_intake(url, patience=0.5) as (intake, _):
        assert await intake.accept(WANTED)
        async with outage(url):
            with pytest.raises(DatabaseUnavailable, match=r"could not be stored within 0\.5 s"):
                await intake.accept(replace(WANTED, guid="missed"))
        assert await intake.accept(replace(WANTED, guid="later"))
