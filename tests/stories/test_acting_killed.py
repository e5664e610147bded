"""Killed in the middle of what it does unasked, Forge does it once all the same, and says so."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from memory.repositories import automation_level
from memory.runs import runs
from simulator.state import PullRequest, Repository
from tests.chaos.driver import ChaosStage, Point, stage
from tests.databases import Backend
from tests.world.automation import APP, TWO, git

PUSH = "on GitHub: POST git-receive-pack"


async def prepare_level(there: ChaosStage, level: int) -> Repository:
    """A repository at a level whose main branch requires one check."""
    repository = there.github.create_repository("octo-org/shop", files={"app.py": APP, "README.md": "# Shop\n"})
    there.github.install(repository)
    there.github.grant(repository, there.github.user("alice"), "write")
    there.github.protect(repository, "main", ["ci"])
    await there.start()
    await automation_level.set_level(there.database, repository.id, level, "carol", "the beginning", there.clock.now())
    return repository


async def play_and_kill(
    there: ChaosStage, repository: Repository, content: str, where: str, moment: str
) -> tuple[PullRequest, str]:
    """A pull request is opened, and Forge dies at a point, once."""

    def dies(point: Point) -> bool:
        # What a kill here cuts off is taken up by the sweep when its moment has come.
        if there.kills or not (point.where.endswith(where) and point.moment == moment):
            return False
        there.clock.move(seconds=31)
        return True

    alice = there.github.user("alice")
    head = await alice.push(repository, "feature", {"app.py": content}, base="main")
    there.github.report_check(repository, head, "ci", "success")
    there.begin(None, dies)
    pull = await alice.open_pull_request(repository, "feature")
    await there.settle()
    return pull, head


async def until(there: ChaosStage, holds: Callable[[], Awaitable[bool]]) -> None:
    end = time.monotonic() + 30
    while not await holds():
        assert time.monotonic() < end, "it did not come to that"
        await asyncio.sleep(0.05)
    await there.settle()


async def acts(there: ChaosStage) -> list[str]:
    latest = await runs.list_latest(there.database)
    return [each["act"] for run in latest for each in await automation_level.list_actions(there.database, run.id)]


@pytest.mark.deep
@pytest.mark.parametrize("backend", ["sqlite"])
@pytest.mark.parametrize(
    ("where", "moment"),
    [
        (": finish", "took effect"),
        (PUSH, "took effect"),
        (": push the fix", "took effect"),
    ],
)
async def test_a_fix_is_pushed_once(backend: Backend, where: str, moment: str, tmp_path: Path) -> None:
    async with stage(backend, tmp_path) as there:
        repository = await prepare_level(there, 2)
        pull, head = await play_and_kill(there, repository, TWO, where, moment)

        async def is_recorded() -> bool:
            return "auto_fix" in await acts(there)

        await until(there, is_recorded)
        assert there.kills == 1
        assert git(repository, "rev-list", "--count", f"{head}..{pull.head_sha}") == "1"
        assert repository.git.read(pull.head_sha, "app.py") == APP.encode()
        assert (await acts(there)).count("auto_fix") == 1


@pytest.mark.deep
@pytest.mark.parametrize("backend", ["sqlite"])
@pytest.mark.parametrize(
    ("where", "queue"),
    [
        ("on GitHub: POST comments", False),
        ("on GitHub: PUT merge", False),
        ("on GitHub: enqueuePullRequest", True),
    ],
)
async def test_a_merge_is_told_and_recorded_once(backend: Backend, where: str, queue: bool, tmp_path: Path) -> None:
    async with stage(backend, tmp_path) as there:
        repository = await prepare_level(there, 4)
        there.github.protect(repository, "main", queue=queue)
        pull, _ = await play_and_kill(there, repository, APP + "# The end.\n", where, "took effect")

        async def is_recorded() -> bool:
            return "auto_merge" in await acts(there)

        await until(there, is_recorded)
        assert there.kills == 1
        assert (pull.merged_at is None, pull.queued_head is not None) == (queue, queue)
        assert sorted(await acts(there)) == ["auto_approve", "auto_merge"]
        mine = [each for each in there.github.reviews(pull) if each.state == "APPROVED"]
        assert len(mine) == 1
        [told] = [each.body for each in there.github.comments(pull) if each.body.startswith("**Forge ")]
        assert told.startswith("**Forge put**" if queue else "**Forge merged**")
