"""The sweeps look after a ring, while work goes on, when something is due, and when another process wrote."""

from datetime import timedelta

import pytest

from memory.db.engine import Database
from memory.runs import waits
from pipeline.worker import sweeps
from pipeline.worker.sweeps import Lookout
from tests.clock import MovableClock


class Post:
    """A lookout that has gone quiet, and what it asks."""

    def __init__(self, database: Database) -> None:
        self.clock = MovableClock()
        self.works = False
        self.glances = 0
        self.lookout = Lookout(database, self.clock, lambda: self.works, self._count)

    async def _count(self) -> None:
        self.glances += 1

    async def quieten(self) -> None:
        assert await self.lookout.is_time()  # a start
        self.lookout._awake_until = 0.0  # as if its seconds were over


@pytest.fixture
async def post(database: Database) -> Post:
    quiet = Post(database)
    await quiet.quieten()
    return quiet


async def test_it_asks_the_database_once_and_not_each_second(post: Post) -> None:
    before = post.glances
    assert [await post.lookout.is_time() for _ in range(5)] == [False] * 5
    assert post.glances == before + 1


async def test_a_ring_and_work_wake_it(post: Post) -> None:
    assert not await post.lookout.is_time()
    post.works = True
    assert await post.lookout.is_time()
    post.works = False
    assert not await post.lookout.is_time()
    post.lookout.wake()
    assert await post.lookout.is_time()


async def test_a_moment_comes_also_on_a_clock_that_jumps(database: Database, post: Post) -> None:
    await waits.add(database, "workflow", post.clock.now() + timedelta(hours=2), "why")
    assert not await post.lookout.is_time()
    post.clock.move(hours=1)
    assert not await post.lookout.is_time()
    post.clock.move(hours=1)
    assert await post.lookout.is_time()


async def test_on_sqlite_what_another_process_writes_is_seen(database: Database, post: Post) -> None:
    assert not await post.lookout.is_time()
    await waits.add(database, "workflow", post.clock.now(), "ended by a command of the terminal")
    assert await post.lookout.is_time() is (database.dialect == "sqlite")
    assert sweeps.AWAKE > 1  # seconds between two looks
