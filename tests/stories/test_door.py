"""`forge door` takes webhooks and reports for processes that work elsewhere, and knows no key of the App."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import aiohttp
import pytest

from memory.db.engine import Database
from memory.deliveries import deliveries
from memory.deployments import feedback_tokens
from memory.runs import runs
from messages import review as review_texts
from simulator import Simulator
from simulator.state import CheckRun, PullRequest
from tests.clock import MovableClock
from tests.databases import create_database, drop_database
from tests.stories.driver import SECRET
from tests.world.processes import ServedProcess, build_environment, run_command
from tests.world.waiting import until

pytestmark = pytest.mark.own_forge


@dataclass
class Place:
    """A database that nothing was done with, and a GitHub."""

    github: Simulator
    url: str
    folder: Path
    database: Database
    clock: MovableClock

    @asynccontextmanager
    async def open_door(self) -> AsyncGenerator[ServedProcess]:
        """A door, to which GitHub delivers."""
        environment = build_environment(self.github, self.url, self.folder, private_key="", data_dir="")
        async with run_command(environment, self.folder, "door") as door:
            port = (await door.wait_for_event("taking webhooks"))["port"]
            self.github.webhook_url = f"http://127.0.0.1:{port}/webhook"
            yield door

    @asynccontextmanager
    async def start_worker(self) -> AsyncGenerator[ServedProcess]:
        environment = build_environment(self.github, self.url, self.folder)
        async with run_command(environment, self.folder, "worker") as worker:
            await worker.wait_for_event("working")
            yield worker

    async def open_pull_request(self) -> PullRequest:
        """alice asks for a review of a change."""
        repository = self.github.create_repository("octo-org/shop", files={"app.py": "print()\n"})
        self.github.install(repository)
        alice = self.github.user("alice")
        self.github.grant(repository, alice, "write")
        await alice.push(repository, "feature", {"app.py": "import os\n"}, base="main")
        return await alice.open_pull_request(repository, "feature", "main", "A change")

    async def wait_for_verdict(self, pull: PullRequest) -> str | None:
        """The conclusion of the review's check."""

        def find() -> list[CheckRun]:
            found = self.github.check_runs(pull.repository, pull.head_sha, review_texts.CHECK_NAME)
            return [each for each in found if each.status == "completed"]

        await until(lambda: bool(find()))
        return find()[-1].conclusion


@pytest.fixture
async def place(tmp_path: Path) -> AsyncGenerator[Place]:
    url = create_database("postgresql", tmp_path, migrated=False)
    database = Database(url)
    clock = MovableClock()
    async with Simulator(tmp_path / "github", webhook_secret=SECRET, now=clock.now) as github:
        yield Place(github, url, tmp_path, database, clock)
    await database.close()
    drop_database(url)


async def test_what_the_door_took_is_done_by_a_worker(place: Place) -> None:
    """The door starts first, on an empty database, and keeps what comes until somebody works."""
    async with place.open_door() as door:
        port = (await door.wait_for_event("taking webhooks"))["port"]
        pull = await place.open_pull_request()
        await place.github.settle()
        assert {each.status_code for each in place.github.deliveries} == {202}
        assert place.github.check_runs(pull.repository, pull.head_sha) == []
        assert await door.get("healthz", port) == (200, "ok\n")
        assert await door.get("readyz", port) == (200, "ready\n")
        status, metrics = await door.get("metrics", port)
        assert status == 200
        assert 'forge_deliveries_total{outcome="accepted",status="202"}' in metrics
        async with place.start_worker():
            assert await place.wait_for_verdict(pull) == "neutral"
    assert not [each for each in door.events if each["level"] == "error"]


async def test_a_door_takes_reports_of_monitoring(place: Place) -> None:
    bot = place.github.app.bot
    async with place.open_door() as door:
        port, now = (await door.wait_for_event("taking webhooks"))["port"], datetime.now(UTC)
        pull = await place.open_pull_request()
        async with place.start_worker():
            await place.wait_for_verdict(pull)
        [run, *_] = await runs.list_latest(place.database, 1)
        _, token = await feedback_tokens.create(place.database, run.as_run().repository, "monitoring", "operator", now)
        figures = {"metric": "error_rate", "baseline": 0.001, "current": 0.2}
        report = {"environment": "production", **figures, "at": now.isoformat()}
        async with (
            aiohttp.ClientSession(headers={"Authorization": f"Bearer {token}"}) as session,
            session.post(f"http://127.0.0.1:{port}/feedback/anomaly", json=report) as answer,
        ):
            assert answer.status == 202
            assert (await answer.json())["repeated"] is False
        async with place.start_worker():
            await until(lambda: any(each.user is bot for each in pull.repository.issues.values()))


async def test_a_worker_has_github_repeat_what_the_door_missed(place: Place) -> None:
    """The door knows no key with which it could ask, so those that work do, while a door is open."""
    async with place.start_worker():
        place.github.webhook_url = "http://127.0.0.1:1/webhook"  # nobody listens there
        place.clock.move(minutes=-10)
        pull = await place.open_pull_request()
        await place.github.settle()
        place.clock.move(minutes=10)
        assert await deliveries.count_outcomes(place.database) == {}
        async with place.open_door():
            assert await place.wait_for_verdict(pull) == "neutral"


@pytest.mark.parametrize("command", ["door", "worker"])
async def test_a_door_or_a_worker_on_sqlite_is_refused(command: str, tmp_path: Path) -> None:
    url = create_database("sqlite", tmp_path)
    async with Simulator(tmp_path / "github", webhook_secret=SECRET) as github:
        environment = build_environment(github, url, tmp_path)
        async with run_command(environment, tmp_path, command) as refused:
            assert await refused.wait_for_end() == 2
    starting, told = refused.said
    assert '"event": "starting"' in starting
    assert told.startswith(f"forge: FORGE_DATABASE_URL is SQLite, and `forge {command}` needs PostgreSQL")
