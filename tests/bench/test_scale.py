"""Verdicts in a minute, the first sign and processor time with 1, 2 and 4 processes that share one PostgreSQL.

Each pull request changes five Python files and no model is asked. All are opened at once; the first sign is the check
that says a review is in progress. GitHub is the simulator in the test's own process, whose work keeps the same
processors busy, and is not counted as Forge's.
"""

import asyncio
import statistics
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from simulator import Simulator, User
from simulator.state import Repository
from tests.bench.languages import LANGUAGES
from tests.bench.processor import adopt_for_good, sum_seconds
from tests.bench.waiting import concludes, find_check, when
from tests.databases import create_database, drop_database
from tests.stories.driver import SECRET
from tests.world.processes import build_environment, run_command

AT_ONCE, ROUNDS = 40, 3
PROCESSES = (1, 2, 4)
LONG = 900.0  # seconds that a batch may take on a machine that has other things to do
MODULES = {f"pkg/m{number}.py": text for number, text in enumerate(LANGUAGES[0].sample(5))}


@dataclass
class Scale:
    """What batches of ``AT_ONCE`` pull requests took, in seconds by the clock and of the processors."""

    signs: list[float] = field(default_factory=list[float])
    seconds: list[float] = field(default_factory=list[float])
    work: list[float] = field(default_factory=list[float])

    @property
    def per_minute(self) -> float:
        return AT_ONCE * 60 / statistics.median(self.seconds)

    @property
    def each(self) -> float:
        return statistics.median(self.work) / AT_ONCE


@dataclass
class Shop:
    """A repository, whose pull requests are reviewed by a process and its workers."""

    github: Simulator
    repository: Repository
    alice: User
    forge: int
    pushed: int = 0

    async def measure(self, scale: Scale | None, count: int = AT_ONCE) -> None:
        branches = [f"b{number}" for number in range(self.pushed, self.pushed + count)]
        self.pushed += count
        for branch in branches:
            files = {path: f"{text}\n\ndef add_{branch}(a, b):\n    return a + b\n" for path, text in MODULES.items()}
            await self.alice.push(self.repository, branch, files, base="main")
        before, began = sum_seconds(self.forge), time.perf_counter()
        signs = await asyncio.gather(*map(self._review, branches))
        if scale is not None:
            scale.seconds.append(time.perf_counter() - began)
            scale.work.append(sum_seconds(self.forge) - before)
            scale.signs += signs

    async def _review(self, branch: str) -> float:
        pull = await self.alice.open_pull_request(self.repository, branch)
        began = time.perf_counter()
        seen = await when(lambda: find_check(self.github, pull) is not None, LONG)
        await when(lambda: concludes(self.github, pull), LONG)
        return seen - began


@asynccontextmanager
async def open_shop(folder: Path, processes: int) -> AsyncGenerator[Shop]:
    """A shop for so many processes that share the work."""
    folder.mkdir()
    url = create_database("postgresql", folder)
    async with Simulator(folder / "github", webhook_secret=SECRET) as github:
        repository = github.create_repository("octo-org/shop", files={"README.md": "# Shop\n", **MODULES})
        github.install(repository)
        alice = github.user("alice")
        github.grant(repository, alice, "write")
        environment = build_environment(github, url, folder, queue_polling="", tool_workers="", **TUNED)
        workers = ("--workers", str(processes - 1))
        async with run_command(environment, folder, "serve", *workers, prepare=adopt_for_good) as served:
            github.webhook_url = f"http://127.0.0.1:{(await served.wait_for_event('serving'))['port']}/webhook"
            for number in range(1, processes):
                await served.wait_for_event("worker.started", number)
            yield Shop(github, repository, alice, served.pid)
    drop_database(url)


TUNED: dict[str, str] = {}


async def test_verdicts_and_first_signs(tmp_path: Path) -> None:
    """In turn, each with processes of its own; the first batch of each makes the mirror and warms up."""
    print(f"\n\n{AT_ONCE} pull requests of 5 Python files at once on PostgreSQL, medians of {ROUNDS}")
    alone: Scale | None = None
    for processes in PROCESSES:
        scale = Scale()
        async with open_shop(tmp_path / str(processes), processes) as shop:
            await shop.measure(None, 4)
            for _ in range(ROUNDS):
                await shop.measure(scale)
        alone = alone or scale
        signs = statistics.quantiles(scale.signs, n=20)
        pace, work = scale.per_minute / alone.per_minute, scale.each / alone.each
        print(
            f"{processes} processes: {scale.per_minute:5.0f} a minute ({pace:4.2f}), {scale.each:5.2f} processor s "
            f"each ({work:4.2f}), first sign {statistics.median(signs):4.1f} s, p95 {signs[-1]:4.1f} s"
        )
