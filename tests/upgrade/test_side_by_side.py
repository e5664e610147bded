"""The version before and this one at once on one PostgreSQL, as while processes are updated one after the other.

SQLite is for one process, so there the one ends before the other starts (`test_upgrade`).
"""

import asyncio
import os
import signal
from collections.abc import AsyncGenerator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import text

from memory.db.engine import Database
from messages import review as review_texts
from simulator import Simulator
from simulator.state import PullRequest, Repository
from tests.databases import create_database, drop_database
from tests.invariants import find_violations
from tests.resting import find_unfinished
from tests.stories.driver import SECRET
from tests.upgrade.version_before import BESIDE, tree_before
from tests.world.processes import PATIENCE, ROOT, ServedProcess, build_environment, run_command

pytestmark = pytest.mark.upgrade

BEFORE, NOW = "before", "now"  # executor ids
MINE = review_texts.CHECK_NAME


@dataclass
class Cluster:
    """A database that processes of both versions share, and a GitHub."""

    github: Simulator
    url: str
    folder: Path
    database: Database
    pulls: list[PullRequest] = field(default_factory=list[PullRequest])

    @asynccontextmanager
    async def serve_before(self) -> AsyncGenerator[tuple[ServedProcess, str]]:
        """The version before, which serves; and the address for GitHub."""
        async with self._serve(BEFORE, tree_before(BESIDE)) as process:
            port = (await process.wait_for_event("serving"))["port"]
            yield process, f"http://127.0.0.1:{port}/webhook"

    @asynccontextmanager
    async def serve_now(self) -> AsyncGenerator[tuple[ServedProcess, str]]:
        """This version, which migrates the database first."""
        async with self._serve(NOW, ROOT) as process:
            port = (await process.wait_for_event("serving"))["port"]
            yield process, f"http://127.0.0.1:{port}/webhook"

    def _serve(self, executor: str, source: Path) -> AbstractAsyncContextManager[ServedProcess]:
        environment = build_environment(self.github, self.url, self.folder, executor_id=executor)
        return run_command(environment, self.folder, "serve", source=source)

    async def open_pull_requests(self, addresses: Sequence[str], count: int) -> None:
        """Open pull requests, of which GitHub tells these addresses in turn."""
        repository = self._find_repository()
        alice = self.github.user("alice")
        for number in range(len(self.pulls), len(self.pulls) + count):
            self.github.webhook_url = addresses[number % len(addresses)]
            files = {f"m{number}.py": f"import sys\nprint({number})\n"}
            await alice.push(repository, f"b{number}", files, base="main")
            self.pulls.append(await alice.open_pull_request(repository, f"b{number}", "main"))
            await self.github.settle()

    def _find_repository(self) -> Repository:
        for repository in self.github.world.repositories.values():
            return repository
        made = self.github.create_repository("octo-org/shop", files={"app.py": "print()\n"})
        self.github.install(made)
        self.github.grant(made, self.github.user("alice"), "write")
        return made

    async def settle(self) -> None:
        async with asyncio.timeout(2 * PATIENCE):
            await self.github.settle()
            while await find_unfinished(self.database, datetime.now(UTC)):  # noqa: ASYNC110  # it is another process
                await asyncio.sleep(0.1)

    async def expect_verdicts(self) -> None:
        """Each pull request has one verdict, and nothing was lost or said twice."""
        for pull in self.pulls:
            [check] = self.github.check_runs(pull.repository, pull.head_sha, MINE)
            assert check.conclusion == "success", check.title
        assert await find_violations(self.github, self.database) == []

    async def count_workflows(self, status: str) -> dict[str, int]:
        """How many workflows of this status there are, by the process that has them."""
        async with self.database.transaction() as session:
            rows = await session.execute(
                text("SELECT executor_id, count(*) AS n FROM dbos.workflow_status WHERE status = :s GROUP BY 1"),
                {"s": status},
            )
            return {row.executor_id: row.n for row in rows if row.executor_id}


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncGenerator[Cluster]:
    url = create_database("postgresql", tmp_path, migrated=False)
    async with Simulator(tmp_path / "github", webhook_secret=SECRET) as github:
        made = Cluster(github, url, tmp_path, Database(url))
        yield made
        await made.database.close()
    drop_database(url)


async def test_both_take_deliveries_and_do_the_work(cluster: Cluster) -> None:
    async with cluster.serve_before() as (before, old):
        await cluster.open_pull_requests([old], 2)
        async with cluster.serve_now() as (now, new):
            await cluster.open_pull_requests([old, new], 10)
            await cluster.settle()
            await cluster.expect_verdicts()
            assert set(await cluster.count_workflows("SUCCESS")) == {BEFORE, NOW}
            assert not [each for each in (*before.events, *now.events) if each["level"] in {"error", "critical"}]


@pytest.mark.parametrize("dies", [BEFORE, NOW])
async def test_what_one_began_the_other_ends(cluster: Cluster, dies: str) -> None:
    """One is killed with work in its hands, and the other has no help. Its lease has to run out first."""
    async with cluster.serve_before() as (before, old), cluster.serve_now() as (now, new):
        await cluster.open_pull_requests([old, new], 8)
        async with asyncio.timeout(PATIENCE):
            while not (await cluster.count_workflows("PENDING")).get(dies):  # noqa: ASYNC110  # another process
                await asyncio.sleep(0.01)
        dead = before if dies == BEFORE else now
        os.kill(dead.pid, signal.SIGKILL)
        await dead.wait_for_end()
        await cluster.settle()
        await cluster.expect_verdicts()
        assert dies not in await cluster.count_workflows("PENDING")
