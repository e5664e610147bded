"""What a run says in passing: the newest, only what lasts, and nothing after it was quiet or lost its place."""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable

import pytest

from domain.errors import Unavailable
from domain.runs.run import Run
from memory.db.engine import Database
from memory.db.tables.runs import PullRequestRow
from memory.process import halts
from pipeline.publishing.publisher import ProgressUpdates
from tests.rows import NOON, run_row

LASTS = 0.05


@pytest.fixture
async def run(database: Database) -> Run:
    async with database.transaction() as session:
        row = run_row("a" * 26, state="running", finished_at=None)
        session.add_all([row, PullRequestRow(repository_id=row.repository_id, number=row.number, fence=row.fence)])
        return row.as_run()


class Said:
    """What reached GitHub, in order."""

    def __init__(self) -> None:
        self.words: list[str] = []
        self._heard: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)

    def build_write(self, word: str, seconds: float = 0) -> Callable[[], Awaitable[None]]:
        async def write() -> None:
            self._say(f"{word} begins")
            await asyncio.sleep(seconds)
            self._say(word)

        return write

    def build_failure(self, word: str) -> Callable[[], Awaitable[None]]:
        async def write() -> None:
            self._say(word)
            raise Unavailable("GitHub is away.")

        return write

    async def wait_for(self, word: str) -> None:
        await asyncio.wait_for(self._heard[word].wait(), 20)

    def _say(self, word: str) -> None:
        self.words.append(word)
        self._heard[word].set()


async def test_only_the_newest_that_lasts_is_said(database: Database, run: Run) -> None:
    telling, said = ProgressUpdates(database, run, LASTS), Said()
    for word in ("one", "two", "three"):
        telling.post_later(said.build_write(word))
    assert said.words == []
    await said.wait_for("three")
    assert said.words == ["three begins", "three"]


async def test_quiet_drops_what_waits(database: Database, run: Run) -> None:
    telling, said = ProgressUpdates(database, run, LASTS), Said()
    telling.post_later(said.build_write("one"))
    await telling.quiet()
    await asyncio.sleep(LASTS * 6)
    assert said.words == []


async def test_quiet_waits_for_what_is_on_its_way(database: Database, run: Run) -> None:
    telling, said = ProgressUpdates(database, run, 0), Said()
    telling.post_later(said.build_write("one", seconds=0.5))
    await said.wait_for("one begins")
    telling.post_later(said.build_write("two"))
    await asyncio.sleep(0.01)
    await telling.quiet()
    assert said.words == ["one begins", "one"]


async def test_one_write_at_a_time(database: Database, run: Run) -> None:
    telling, said = ProgressUpdates(database, run, 0), Said()
    telling.post_later(said.build_write("one", seconds=0.3))
    await said.wait_for("one begins")
    telling.post_later(said.build_write("two"))
    await said.wait_for("two")
    assert said.words == ["one begins", "one", "two begins", "two"]


async def test_nothing_is_said_where_another_run_took_over(database: Database, run: Run) -> None:
    telling, said = ProgressUpdates(database, run.model_copy(update={"fence": run.fence - 1}), 0), Said()
    telling.post_later(said.build_write("one"))
    await asyncio.sleep(0.2)
    await telling.quiet()
    assert said.words == []


async def test_nothing_is_said_while_forge_is_halted(database: Database, run: Run) -> None:
    telling, said = ProgressUpdates(database, run, 0), Said()
    await halts.halt(database, "an incident", "carol", NOON)
    telling.post_later(said.build_write("one"))
    await asyncio.sleep(0.2)
    await telling.quiet()
    assert said.words == []


async def test_what_cannot_be_said_is_left(database: Database, run: Run) -> None:
    telling, said = ProgressUpdates(database, run, 0), Said()
    telling.post_later(said.build_failure("one"))
    await said.wait_for("one")
    await telling.quiet()
    telling.post_later(said.build_write("two"))
    await said.wait_for("two")
