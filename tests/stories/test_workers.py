"""`forge serve --workers N` keeps N worker processes beside itself, which share its work and end with it."""

import asyncio
import os
import resource
import signal
import socket
from collections.abc import AsyncGenerator, Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import text

from bot.settings import Settings
from bot.worker_processes import keep_workers
from memory.db.engine import Database
from messages import review as review_texts
from simulator import Simulator
from simulator.state import PullRequest
from tests.databases import create_database, drop_database
from tests.invariants import find_violations
from tests.resting import find_unfinished
from tests.stories.driver import SECRET
from tests.world.processes import PATIENCE, ServedProcess, build_environment, run_command

pytestmark = pytest.mark.own_forge


class Place:
    """A database and a GitHub for processes to work with."""

    def __init__(self, github: Simulator, url: str, folder: Path) -> None:
        self.github = github
        self.url = url
        self.folder = folder
        self.database = Database(url)

    def environment(self, **more: str) -> dict[str, str]:
        return build_environment(self.github, self.url, self.folder, executor_id="served", **more)

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
        async with asyncio.timeout(PATIENCE):
            await self.github.settle()
            while await find_unfinished(self.database, datetime.now(UTC)):  # noqa: ASYNC110  # it is another process
                await asyncio.sleep(0.1)


@pytest.fixture
async def place(tmp_path: Path) -> AsyncGenerator[Place]:
    url = create_database("postgresql", tmp_path)
    async with Simulator(tmp_path / "github", webhook_secret=SECRET) as github:
        made = Place(github, url, tmp_path)
        yield made
        await made.database.close()
    drop_database(url)


async def wait_for_workers(served: ServedProcess, place: Place, count: int) -> list[int]:
    """The pids of the workers, once all work."""
    place.github.webhook_url = f"http://127.0.0.1:{(await served.wait_for_event('serving'))['port']}/webhook"
    return [(await served.wait_for_event("worker.started", number))["pid"] for number in range(1, count + 1)]


async def test_a_killed_worker_is_replaced_and_loses_nothing(place: Place) -> None:
    async with run_command(place.environment(), place.folder, "serve", "--workers", "2") as served:
        first, second = await wait_for_workers(served, place, 2)
        pulls = await place.open_pull_requests(12)
        async with asyncio.timeout(PATIENCE):
            while not (busy := set(await place.list_working()) & {"served/1", "served/2"}):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        executors = {each["executor"]: each["pid"] for each in served.events if each["event"] == "working"}
        assert set(executors.values()) == {first, second}
        os.kill(executors[min(busy)], signal.SIGKILL)
        ended = await served.wait_for_event("worker.ended")
        assert (ended["pid"], ended["code"], ended["starts_again_in"]) == (executors[min(busy)], -signal.SIGKILL, 1.0)
        again = await served.wait_for_event("worker.started", 3)
        await place.settle()
        assert {conclude(place, pull) for pull in pulls} == {"neutral"}  # nobody read the logic
        assert await find_violations(place.github, place.database) == []
        assert len(await place.list_workers_of_ended()) > 1
        os.kill(again["pid"], signal.SIGKILL)  # at once again
        assert (await served.wait_for_event("worker.ended", 2))["starts_again_in"] == 2.0


async def test_all_end_together(place: Place) -> None:
    async with run_command(place.environment(), place.folder, "serve", "--workers", "2") as served:
        workers = await wait_for_workers(served, place, 2)
        served.send(signal.SIGTERM)
        assert await served.wait_for_end() == 0
    assert not any(map(is_alive, workers))
    async with place.database.transaction() as session:  # leases given back: nobody waits for them to lapse
        held = await session.scalar(text("SELECT count(*) FROM executors WHERE lease_until > now()"))
    assert held == 0


async def test_workers_do_not_outlive_a_killed_process(place: Place) -> None:
    async with run_command(place.environment(), place.folder, "serve", "--workers", "2") as served:
        workers = await wait_for_workers(served, place, 2)
        served.send(signal.SIGKILL)
        await wait_until(lambda: not any(map(is_alive, workers)))
        await served.wait_for_end()


async def test_what_keeps_workers_from_starting_is_told_once(place: Place) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = other.getsockname()[1]
        environment = place.environment(port=str(taken - 1))
        async with run_command(environment, place.folder, "serve", "--workers", "3") as served:
            assert await served.wait_for_end() == 2
    why, so = [line for line in served.said if not line.startswith("{")]
    assert why.startswith(f"forge: FORGE_PORT {taken} is in use on 127.0.0.1. Stop the program that uses it")
    assert so.startswith("forge: Worker 1 ended with code 2 before it worked, so `forge serve --workers` ends, too.")


async def test_a_machine_that_starts_no_process_is_told_as_the_reason() -> None:
    settings = Settings(app_id=1, webhook_secret=SECRET)  # pyright: ignore[reportArgumentType]
    async with keep_workers(settings, 1) as workers:
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
        try:
            workers.start()
            async with asyncio.timeout(PATIENCE):
                await workers.failed.wait()
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert "Worker 1 cannot be started (Too many open files)" in str(workers.problem)


@pytest.mark.parametrize("app", [{}, {"app_id": "", "private_key": "", "webhook_secret": ""}], ids=["known", "none"])
async def test_workers_on_sqlite_are_refused(tmp_path: Path, app: dict[str, str]) -> None:
    """Also before anybody registers an App on the pages of the set-up."""
    url = create_database("sqlite", tmp_path)
    async with Simulator(tmp_path / "github", webhook_secret=SECRET) as github:
        environment = build_environment(github, url, tmp_path, **app)
        async with run_command(environment, tmp_path, "serve", "--workers", "2") as served:
            assert await served.wait_for_end() == 2
    assert served.said[-1].startswith("forge: FORGE_DATABASE_URL is SQLite, and `forge serve --workers` needs")
    assert len(served.said) == 2


def conclude(place: Place, pull: PullRequest) -> str | None:
    [check] = place.github.check_runs(pull.repository, pull.head_sha, review_texts.CHECK_NAME)
    return check.conclusion


def is_alive(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


async def wait_until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not is_so():  # noqa: ASYNC110  # it is another process
            await asyncio.sleep(0.05)
