"""The sweep through GitHub's log of deliveries, on both databases, against the simulator."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from domain.errors import Forbidden, RateLimited, Unavailable
from memory.db.engine import Database, begin, sync_engine
from memory.deliveries import deliveries
from pipeline.maintenance.redelivery import Redelivery
from simulator.webhooks import Delivery
from tests.contract.stage import Stage, open_stage
from tests.databases import Backend, create_database, drop_database

NOBODY = "http://127.0.0.1:1/webhook"


@dataclass
class RedeliveryScene:
    """A GitHub nobody listens to, and processes that sweep through its log."""

    stage: Stage
    url: str
    counted: Counter[str] = field(default_factory=Counter[str])
    databases: list[Database] = field(default_factory=list[Database])

    def process(self, app_id: int = 42, *, most: int = 100, look: float = 5) -> Redelivery:
        """Another process on the same database."""
        self.databases.append(Database(self.url))
        counts = self.counted
        return Redelivery(
            self.databases[-1],
            self.stage.host.deliveries,
            self.stage.clock,
            app_id,
            look=look,
            most=most,
            count=lambda outcome: counts.update([outcome]),
        )

    async def miss_events(self, number: int = 1) -> list[Delivery]:
        """Events that reach nobody, an hour before whatever comes next."""
        before = len(self.stage.sim.deliveries)
        for _ in range(number):
            await self.stage.ann.open_issue(self.stage.shelf, "Broken")
        await self.stage.sim.settle()
        self.stage.clock.advance(hours=1)
        return self.stage.sim.deliveries[before:]

    async def list_redelivered(self) -> list[str]:
        """The GUIDs of the deliveries GitHub was asked to make again, in order."""
        await self.stage.sim.settle()
        return [each.guid for each in self.stage.sim.deliveries if each.redelivery]

    def pages(self) -> int:
        return self.stage.count_requests("/app/hook/deliveries")

    def store(self, *arrived: Delivery) -> None:
        """These deliveries did arrive."""
        engine, now = sync_engine(self.url), self.stage.clock.now()
        rows = [deliveries.ReceivedDelivery(each.guid, each.event, "opened", now, None, "not used") for each in arrived]
        with begin(engine) as connection:
            deliveries.store(connection, rows)
        engine.dispose()


@asynccontextmanager
async def _open_scene(backend: Backend, folder: Path) -> AsyncGenerator[RedeliveryScene]:
    url = create_database(backend, folder)
    async with open_stage() as stage:
        stage.sim.webhook_url = NOBODY
        sweeping = RedeliveryScene(stage, url)
        yield sweeping
        for database in sweeping.databases:
            await database.close()
    drop_database(url)


@pytest.fixture(params=["sqlite", "postgresql"])
async def there(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[RedeliveryScene]:
    async with _open_scene(request.param, tmp_path) as sweeping:
        yield sweeping


@pytest.fixture
async def quick(tmp_path: Path) -> AsyncIterator[RedeliveryScene]:
    """Where the database makes no difference."""
    async with _open_scene("sqlite", tmp_path) as sweeping:
        yield sweeping


async def test_what_was_missed_is_asked_for_once_and_the_oldest_first(there: RedeliveryScene) -> None:
    missed = await there.miss_events(3)
    there.store(missed[1])
    process = there.process()
    assert await process.sweep()
    assert await there.list_redelivered() == [missed[0].guid, missed[2].guid]
    assert there.counted == {"asked": 2}
    there.stage.clock.advance(minutes=4)
    assert await process.sweep()
    assert len(await there.list_redelivered()) == 2  # still on its way, as far as anybody knows


async def test_what_arrives_nowhere_is_asked_for_less_and_less_often_until_it_is_too_old(
    quick: RedeliveryScene,
) -> None:
    [missed] = await quick.miss_events()
    process = quick.process()
    asked_after: list[int] = []
    with capture_logs() as logs:
        for hours in range(0, 8 * 24, 2):
            before = len(await quick.list_redelivered())
            await process.sweep()
            if len(await quick.list_redelivered()) > before:
                asked_after.append(hours)
            quick.stage.clock.advance(hours=2)
    assert asked_after[:9] == [0, 2, 4, 6, 8, 10, 14, 20, 26]
    assert asked_after[-1] < 7 * 24
    assert set(await quick.list_redelivered()) == {missed.guid}
    assert [each["times"] for each in logs if each["event"] == "redelivery.given_up"] == [len(asked_after)]


async def test_one_process_sweeps_at_a_time(there: RedeliveryScene) -> None:
    await there.miss_events(5)
    processes = [there.process() for _ in range(4)]
    there.stage.sim.faults.add(kind="slow", path="/app/hook/deliveries$", delay=0.3)
    swept = await asyncio.gather(*(each.sweep() for each in processes))
    assert sum(swept) == 1
    for each in processes:  # the first sweep of a process is always due
        await each.sweep()
    assert len(await there.list_redelivered()) == 5


async def test_the_turn_of_a_process_that_died_passes_on(there: RedeliveryScene) -> None:
    await there.miss_events()
    there.stage.sim.faults.add(kind="slow", path="/app/hook/deliveries$", delay=60)
    dying = asyncio.create_task(there.process().sweep())
    while not there.pages():  # noqa: ASYNC110  # the simulator tells nobody
        await asyncio.sleep(0.01)
    assert not await there.process().sweep()
    there.stage.clock.advance(minutes=3)
    assert await there.process().sweep()
    dying.cancel()
    await asyncio.gather(dying, return_exceptions=True)
    assert len(await there.list_redelivered()) == 1


async def test_the_log_is_read_back_to_where_it_was_read_before(quick: RedeliveryScene) -> None:
    quick.store(*await quick.miss_events(250), *await quick.miss_events())
    process = quick.process()
    await process.sweep()
    whole = quick.pages()
    quick.stage.clock.advance(minutes=30)
    await process.sweep()
    assert (whole, quick.pages() - whole) == (3, 1)
    quick.stage.clock.advance(minutes=1)
    assert not await process.sweep()
    assert quick.pages() == whole + 1


async def test_no_more_at_once_than_github_likes(quick: RedeliveryScene) -> None:
    missed = await quick.miss_events(5)
    process = quick.process(most=3)
    await process.sweep()
    assert len(await quick.list_redelivered()) == 3
    quick.stage.clock.advance(minutes=4)
    await process.sweep()
    assert await quick.list_redelivered() == [each.guid for each in missed]


async def test_an_answer_that_was_lost_is_no_reason_to_ask_again(quick: RedeliveryScene) -> None:
    await quick.miss_events(2)
    quick.stage.sim.faults.add(kind="reset", method="POST", path="/attempts$")
    process = quick.process()
    with pytest.raises(Unavailable):
        await process.sweep()
    quick.stage.clock.advance(minutes=4)
    await process.sweep()
    assert len(await quick.list_redelivered()) == len(set(await quick.list_redelivered())) == 2


async def test_one_that_github_refuses_does_not_keep_the_others(quick: RedeliveryScene) -> None:
    missed = await quick.miss_events(3)
    quick.stage.sim.faults.add(kind="before", method="POST", path=f"/{missed[1].id}/attempts$", status=422)
    await quick.process().sweep()
    assert await quick.list_redelivered() == [missed[0].guid, missed[2].guid]
    assert quick.counted == {"asked": 2, "refused": 1}


@pytest.mark.parametrize(("status", "error"), [(500, Unavailable), (403, Forbidden), (429, RateLimited)])
async def test_a_log_that_cannot_be_read_is_read_later(
    quick: RedeliveryScene, status: int, error: type[Exception]
) -> None:
    missed = await quick.miss_events()
    fault = quick.stage.sim.faults.add(kind="before", path="/app/hook/deliveries$", status=status, times=None)
    process = quick.process()
    with pytest.raises(error):
        await process.sweep()
    assert not await process.sweep()
    fault.times = fault.fired
    quick.stage.clock.advance(minutes=4)
    await process.sweep()
    assert await quick.list_redelivered() == [missed[0].guid]


async def test_half_a_log_is_not_taken_for_the_whole(quick: RedeliveryScene) -> None:
    *arrived, first, second = await quick.miss_events(120)
    quick.store(*arrived)
    quick.stage.sim.faults.add(kind="before", path="/app/hook/deliveries$", status=502, skip=1, times=3)
    process = quick.process()
    with pytest.raises(Unavailable):
        await process.sweep()
    assert not await quick.list_redelivered()
    quick.stage.clock.advance(minutes=4)
    await process.sweep()
    assert await quick.list_redelivered() == [first.guid, second.guid]


async def test_it_goes_on_after_a_failure_with_one_line(quick: RedeliveryScene) -> None:
    await quick.miss_events()
    quick.stage.sim.faults.add(kind="before", path="/app/hook/deliveries$", status=403)
    with capture_logs() as logs:
        going_on = asyncio.create_task(quick.process(look=0.01).keep_sweeping())
        while not logs:  # noqa: ASYNC110  # nobody tells when a line was written
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.3)
        assert [each["event"] for each in logs] == ["redelivery.failed"]
        quick.stage.clock.advance(minutes=4)
        while not await quick.list_redelivered():  # noqa: ASYNC110  # as above
            await asyncio.sleep(0.01)
    going_on.cancel()
    await asyncio.gather(going_on, return_exceptions=True)


async def test_another_app_has_a_log_of_its_own(quick: RedeliveryScene) -> None:
    await quick.process(app_id=42).sweep()
    await quick.miss_events()
    assert await quick.process(app_id=43).sweep()
    assert len(await quick.list_redelivered()) == 1
