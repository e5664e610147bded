"""Processes that share the work of one database: one of them is killed, all are stopped."""

import asyncio
import signal
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest
from sqlalchemy import text

from memory.db.engine import Database
from simulator import Simulator
from simulator.state import PullRequest
from tests.databases import create_database, drop_database
from tests.invariants import find_violations
from tests.resting import settle
from tests.stories.driver import SECRET
from tests.world.processes import PATIENCE, ServedProcess, build_environment, conclude, run_command

pytestmark = pytest.mark.own_forge


class Place:
    """A database and a GitHub for processes to work with."""

    def __init__(self, github: Simulator, url: str, folder: Path) -> None:
        self.github = github
        self.url = url
        self.folder = folder
        self.database = Database(url)

    def environment(self, **more: str) -> dict[str, str]:
        return build_environment(self.github, self.url, self.folder, **more)

    async def open_pull_requests(self, count: int) -> list[PullRequest]:
        repository = self.github.create_repository("octo-org/shop", files={"app.py": "print()\n"})
        self.github.install(repository)
        alice = self.github.user("alice")
        self.github.grant(repository, alice, "write")
        for number in range(count):
            await alice.push(repository, f"b{number}", {"app.py": f"print({number})\n"}, base="main")
        return [await alice.open_pull_request(repository, f"b{number}", "main") for number in range(count)]

    async def list_working(self) -> dict[str, int]:
        """The processes that work now, by executor id: how many workflows each is in."""
        async with self.database.transaction() as session:
            counted = text(
                "SELECT executor_id, count(*) AS number FROM dbos.workflow_status WHERE status='PENDING' GROUP BY 1"
            )
            return {row.executor_id: row.number for row in await session.execute(counted)}

    async def list_workers_of_ended(self) -> set[str]:
        """The processes that brought workflows to their end."""
        async with self.database.transaction() as session:
            names = text("SELECT DISTINCT executor_id FROM dbos.workflow_status WHERE status='SUCCESS'")
            return set(await session.scalars(names))

    async def settle(self) -> None:
        await settle(self.github, self.database, PATIENCE)


@pytest.fixture
async def place(tmp_path: Path) -> AsyncGenerator[Place]:
    url = create_database("postgresql", tmp_path)
    async with Simulator(tmp_path / "github", webhook_secret=SECRET) as github:
        made = Place(github, url, tmp_path)
        yield made
        await made.database.close()
    drop_database(url)


@asynccontextmanager
async def run_three(place: Place) -> AsyncGenerator[list[ServedProcess]]:
    """One that serves, and two workers, in the order of their executor ids."""
    async with AsyncExitStack() as stack:
        started: list[ServedProcess] = []
        for name, command in (("served", "serve"), ("worker-1", "worker"), ("worker-2", "worker")):
            environment = place.environment(executor_id=name, data_dir=str(place.folder / name))
            started.append(await stack.enter_async_context(run_command(environment, place.folder, command)))
        port = (await started[0].wait_for_event("serving"))["port"]
        place.github.webhook_url = f"http://127.0.0.1:{port}/webhook"
        for each in started[1:]:
            await each.wait_for_event("working")
        yield started


async def test_a_killed_worker_loses_nothing(place: Place) -> None:
    async with run_three(place) as (_, *workers):
        pulls = await place.open_pull_requests(12)
        known: dict[str, ServedProcess] = dict(zip(("worker-1", "worker-2"), workers, strict=True))
        async with asyncio.timeout(PATIENCE):
            while not (busy := set(await place.list_working()) & set(known)):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        killed = known[min(busy)]
        killed.send(signal.SIGKILL)
        assert await killed.wait_for_end() == -signal.SIGKILL
        await place.settle()
        assert {conclude(place.github, pull) for pull in pulls} == {"neutral"}  # nobody read the logic
        assert await find_violations(place.github, place.database) == []
        assert len(await place.list_workers_of_ended()) > 1


async def test_who_is_told_to_stop_gives_its_lease_back(place: Place) -> None:
    """So that nobody waits for it to lapse."""
    async with run_three(place) as started:
        for each in started:
            each.send(signal.SIGTERM)
        assert [await each.wait_for_end() for each in started] == [0, 0, 0]
    async with place.database.transaction() as session:
        held = await session.scalar(text("SELECT count(*) FROM executors WHERE lease_until > now()"))
    assert held == 0
