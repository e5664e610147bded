"""Verdicts in a minute, the first sign and processor time with 1, 2 and 4 processes that share one PostgreSQL.

Each pull request changes five Python files and no model is asked. All are opened at once; the first sign is the check
that says a review is in progress. GitHub is the simulator in the test's own process, whose work keeps the same
processors busy, and is not counted as Forge's.
"""

import asyncio
import statistics
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from simulator import Simulator
from simulator.state import Repository
from tests.bench.languages import LANGUAGES
from tests.bench.processor import adopt_for_good, sum_memory, sum_seconds
from tests.bench.waiting import concludes, find_check, when
from tests.databases import create_database, drop_database
from tests.stories.driver import SECRET
from tests.world.processes import build_environment, run_command

AT_ONCE, ROUNDS = 40, 3
PROCESSES = (1, 2, 4)
IDLE = 0.8  # processor seconds a second that processes take which only look for work
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
    """A repository, whose pull requests are reviewed by processes, given by their ids."""

    github: Simulator
    repository: Repository
    forge: Sequence[int]
    pushed: int = 0

    async def measure(self, scale: Scale | None, count: int = AT_ONCE) -> None:
        branches = [f"b{number}" for number in range(self.pushed, self.pushed + count)]
        self.pushed += count
        for branch in branches:
            files = {path: f"{text}\n\ndef add_{branch}(a, b):\n    return a + b\n" for path, text in MODULES.items()}
            await self.github.user("alice").push(self.repository, branch, files, base="main")
        await self.wait_until_idle()
        before, began = self._sum_seconds(), time.perf_counter()
        signs = await asyncio.gather(*map(self._review, branches))
        if scale is not None:
            scale.seconds.append(time.perf_counter() - began)
            scale.work.append(self._sum_seconds() - before)
            scale.signs += signs

    async def wait_until_idle(self) -> None:
        """Wait until no process warms anything up."""
        while True:
            before = self._sum_seconds()
            await asyncio.sleep(2)
            if self._sum_seconds() - before < IDLE * 2:
                return

    def _sum_seconds(self) -> float:
        return sum(map(sum_seconds, self.forge))

    async def _review(self, branch: str) -> float:
        pull = await self.github.user("alice").open_pull_request(self.repository, branch)
        began = time.perf_counter()
        seen = await when(lambda: find_check(self.github, pull) is not None, LONG)
        await when(lambda: concludes(self.github, pull), LONG)
        return seen - began


def prepare_repository(github: Simulator, name: str) -> Repository:
    """A repository with Forge installed, to which alice may write."""
    repository = github.create_repository(name, files={"README.md": "# Shop\n", **MODULES})
    github.install(repository)
    github.grant(repository, github.user("alice"), "write")
    return repository


@asynccontextmanager
async def open_shop(folder: Path, processes: int) -> AsyncGenerator[Shop]:
    """A shop for so many processes that share the work."""
    folder.mkdir()
    url = create_database("postgresql", folder)
    async with Simulator(folder / "github", webhook_secret=SECRET) as github:
        repository = prepare_repository(github, "octo-org/shop")
        async with AsyncExitStack() as stack:
            pids: list[int] = []
            for number in range(processes):
                name = f"process-{number}"
                own = {"executor_id": name, "data_dir": str(folder / name)}
                environment = build_environment(github, url, folder, **own, queue_polling="", tool_workers="")
                command, event = ("worker", "working") if number else ("serve", "serving")
                process = await stack.enter_async_context(
                    run_command(environment, folder, command, prepare=adopt_for_good)
                )
                port = (await process.wait_for_event(event))["port"]
                github.webhook_url = github.webhook_url or f"http://127.0.0.1:{port}/webhook"
                pids.append(process.pid)
            yield Shop(github, repository, pids)
    drop_database(url)


async def test_memory_of_each_kind_of_process(tmp_path: Path) -> None:
    """When it has done its part of a batch and is at rest; connections to PostgreSQL are those it keeps."""
    print("\n\nMemory (PSS) at rest after a batch")
    url = create_database("postgresql", tmp_path)
    async with Simulator(tmp_path / "github", webhook_secret=SECRET) as github:
        environment = build_environment(github, url, tmp_path, queue_polling="", tool_workers="")
        for name, event, command in (
            ("forge serve", "serving", ("serve",)),
            ("forge worker", "working", ("worker",)),
            ("forge door", "taking webhooks", ("door",)),
        ):
            async with run_command({**environment, "FORGE_EXECUTOR_ID": name}, tmp_path, *command) as process:
                port = (await process.wait_for_event(event))["port"]
                github.webhook_url = f"http://127.0.0.1:{port}/webhook"
                shop = Shop(github, prepare_repository(github, f"octo-org/{command[0]}"), [process.pid])
                if command == ("serve",):
                    await shop.measure(None, 8)
                await shop.wait_until_idle()
                own, whole = sum_memory(process.pid)
                print(f"{name:14} {own / 1e6:5.0f} MB, with what it started {whole / 1e6:5.0f} MB")
    drop_database(url)


async def test_verdicts_and_first_signs(tmp_path: Path) -> None:
    """In turn, each with processes of its own; the first batch of each makes the mirror and warms up."""
    print(f"\n\n{AT_ONCE} pull requests of 5 Python files at once on PostgreSQL, medians of {ROUNDS}")
    alone: Scale | None = None
    for processes in PROCESSES:
        scale = Scale()
        async with open_shop(tmp_path / str(processes), processes) as shop:
            await shop.measure(None, 8 * processes)  # each does some, and warms up
            for _ in range(ROUNDS):
                await shop.measure(scale)
        alone = alone or scale
        signs = statistics.quantiles(scale.signs, n=20)
        pace, work = scale.per_minute / alone.per_minute, scale.each / alone.each
        print(
            f"{processes} processes: {scale.per_minute:5.0f} a minute ({pace:4.2f}), {scale.each:5.2f} processor s "
            f"each ({work:4.2f}), first sign {statistics.median(signs):4.1f} s, p95 {signs[-1]:4.1f} s"
        )
