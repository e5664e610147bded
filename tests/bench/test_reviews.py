"""Reviews in a minute, and what each takes of the processors, from the webhook to the verdict on GitHub.

Each pull request changes five Python files; a scripted model reads them, finds something in one and stands by it, and
Forge comments on it. The baseline is of the same run and in turn with it: ruff, twice, and detect-secrets, started by
hand on the same files, as many at once as Forge has runs. GitHub is the simulator on this machine, and its work for
Forge keeps the same processors busy, but is not counted as Forge's.
"""

import asyncio
import os
import statistics
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from bot.settings import Settings
from simulator import Simulator, User
from simulator.state import PullRequest, Repository
from tests.bench.languages import LANGUAGES, build_command_lines, start_line, write_files
from tests.bench.processor import sum_seconds
from tests.bench.served_forge import start_forge
from tests.bench.waiting import concludes, when
from tests.stories.driver import SECRET
from tests.world.model_findings import PAY, find_division

AT_ONCE, ROUNDS = 12, 3
RUNS = Settings.model_fields["concurrent_runs"].default
WORK_BAR, PACE_BAR = 4.0, 0.15  # times the command lines' processor time; of their pace
PYTHON = LANGUAGES[0]
MODULES = {f"pkg/m{number}.py": text for number, text in enumerate(PYTHON.sample(4))}
CHANGED = {"billing/pay.py": PAY} | {
    path: f"{text}\n\ndef add(a, b):\n    return a + b\n" for path, text in MODULES.items()
}


@dataclass
class Taken:
    """What the batches took, each of ``AT_ONCE`` pull requests: seconds by the clock, and of the processors."""

    seconds: list[float] = field(default_factory=list[float])
    work: list[float] = field(default_factory=list[float])

    @property
    def per_minute(self) -> float:
        return AT_ONCE * 60 / statistics.median(self.seconds)

    @property
    def each(self) -> float:
        """Processor seconds for each pull request."""
        return statistics.median(self.work) / AT_ONCE

    async def add(self, process: int, batch: Callable[[], Awaitable[None]]) -> None:
        began, before = time.perf_counter(), sum_seconds(process)
        await batch()
        self.seconds.append(time.perf_counter() - began)
        self.work.append(sum_seconds(process) - before)


@dataclass
class Shop:
    """A repository whose pull requests are reviewed, and the process that reviews them."""

    github: Simulator
    repository: Repository
    alice: User
    forge: int
    pushed: int = 0

    async def push_batch(self) -> list[str]:
        """Push branches to open pull requests from."""
        branches = [f"b{number}" for number in range(self.pushed, self.pushed + AT_ONCE)]
        self.pushed += AT_ONCE
        for branch in branches:
            files = {**CHANGED, "billing/pay.py": f"{PAY}# {branch}\n"}  # heads of their own: one check is of one head
            await self.alice.push(self.repository, branch, files, base="main")
        return branches

    async def review_batch(self, branches: Sequence[str]) -> None:
        """Open a pull request from each branch at once and wait for every verdict."""
        await asyncio.gather(*map(self._review, branches))

    async def _review(self, branch: str) -> None:
        pull = await self.alice.open_pull_request(self.repository, branch)
        await when(lambda: concludes(self.github, pull, "failure"))
        assert self._count_comments(pull) == 1

    def _count_comments(self, pull: PullRequest) -> int:
        return sum(comment.path == "billing/pay.py" for comment in self.github.review_comments(pull))


@asynccontextmanager
async def open_shop(folder: Path, **more: Any) -> AsyncGenerator[Shop]:
    """A shop with a Forge.

    :param more: settings.
    """
    folder.mkdir()
    async with Simulator(folder / "github", webhook_secret=SECRET) as github:
        repository = github.create_repository("octo-org/shop", files={"README.md": "# Shop\n", **MODULES})
        github.install(repository)
        alice = github.user("alice")
        github.grant(repository, alice, "write")
        async with start_forge(github, folder, find_division, **more) as process:
            yield Shop(github, repository, alice, process)


async def test_reviews_per_minute_and_their_work(tmp_path: Path) -> None:
    by_hand, unpaced, deployed = Taken(), Taken(), Taken()
    lines = build_command_lines(PYTHON, write_files(tmp_path / "files", CHANGED), Path())

    async def start_lines() -> None:
        turn = asyncio.Semaphore(RUNS)

        async def check() -> None:
            async with turn:
                await asyncio.gather(*(start_line(line, tmp_path / "files") for line in lines))

        await asyncio.gather(*(check() for _ in range(AT_ONCE)))

    async with open_shop(tmp_path / "unpaced", write_interval=0) as quick, open_shop(tmp_path / "paced") as slow:
        for shop in (quick, slow):
            await shop.review_batch(await shop.push_batch())  # the mirror is made once
        for _ in range(ROUNDS):
            await by_hand.add(os.getpid(), start_lines)
            for shop, taken in ((quick, unpaced), (slow, deployed)):
                review = partial(shop.review_batch, await shop.push_batch())
                await taken.add(shop.forge, review)
    print(f"\n\n{AT_ONCE} pull requests of 5 Python files at once, {RUNS} runs at a time, medians of {ROUNDS}")
    _print("the tools' command lines", by_hand, by_hand)
    _print("Forge, writes not paced", unpaced, by_hand)
    _print("Forge as deployed, a write a second", deployed, by_hand)
    assert unpaced.each < WORK_BAR * by_hand.each
    assert unpaced.per_minute > PACE_BAR * by_hand.per_minute


def _print(name: str, taken: Taken, baseline: Taken) -> None:
    pace, work = taken.per_minute / baseline.per_minute, taken.each / baseline.each
    print(f"{name:36}{taken.per_minute:7.0f} a minute ({pace:5.2f}){taken.each:8.2f} processor s each ({work:5.2f})")
