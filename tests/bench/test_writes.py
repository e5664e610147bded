"""How long people wait for what Forge writes: a verdict, a gate's outcome, alone and while much is written.

As deployed: SQLite, the pace of writes that GitHub wants, two looks a fifth of a second apart. GitHub is the simulator
on this machine, so its own time is next to nothing, and this process does its work, too.

The bars in seconds are for a machine that has nothing else to do, and only printed. What fails is a ratio: of what
people wait for to the answer to `/forge help` on the same machine, which is what the way in and out takes alone.
"""

import asyncio
import statistics
import time
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from bot.app import Patience
from github.pacing import Write
from pipeline.durable.journal import Call, run_durable_step
from safety.github_limits import PER_HOUR, PER_MINUTE
from simulator import Simulator, User
from simulator.state import PullRequest, Repository
from tests.bench.waiting import concludes, find_check, when
from tests.clock import MovableClock
from tests.databases import create_database
from tests.stories.driver import NO_MODEL, SECRET, Story, run_forge
from tests.stories.gate_scenes import CHANGED, CI, WORKFLOW

APP = "import os\n\n\ndef home() -> str:\n    return os.environ['HOME']\n"
SAME: dict[str, str] = {"app.py": APP.replace("'HOME'", "'USER'")}
BROKEN = {"app.py": APP + "\n\ndef pay():\n    return subprocess.call(amount, shell=True)\n"}
AT_ONCE = 20
GREEN_BAR, VERDICT_BAR, LAST_BAR = 0.7, 2.0, 30.0
GREEN_RATIO, VERDICT_RATIO = 3.0, 6.0  # times the answer to `/forge help`; of a review without what its checks take
FLOOD_SHARE = 3.0  # what is decided elsewhere is shown in this part of the time that a flood takes


CHECKS = list[float]()  # seconds that each review's checks took


async def time_step(name: str, call: Call) -> dict[str, Any]:
    """A durable step, of which is noted how long checks take."""
    began = time.perf_counter()
    answer = await run_durable_step(name, call)
    if name == "run the checks":
        CHECKS.append(time.perf_counter() - began)
    return answer


@asynccontextmanager
async def deploy_forge(folder: Path) -> AsyncGenerator[Story]:
    """A Forge with the settings that an operator has who sets none."""
    folder.mkdir()
    url, clock = create_database("sqlite", folder), MovableClock()
    more = {"write_interval": 1.0, "queue_polling": 0.2, "tool_workers": 2}
    async with (
        Simulator(folder / "github", webhook_secret=SECRET, now=clock.now) as github,
        run_forge(github, clock, url, folder, Patience(), NO_MODEL, time_step, **more) as told,
    ):
        yield told


async def open_pull_request(alice: User, repository: Repository, branch: str, files: dict[str, str]) -> PullRequest:
    """A pull request from a branch of its own."""
    await alice.push(repository, branch, files, base="main")
    return await alice.open_pull_request(repository, branch)


async def verdict(told: Story, alice: User, repository: Repository, branch: str, files: dict[str, str]) -> float:
    """Seconds from a pull request that is opened to its verdict."""
    await alice.push(repository, branch, files, base="main")
    began = time.perf_counter()
    pull = await alice.open_pull_request(repository, branch)
    return await when(lambda: concludes(told.github, pull)) - began


async def time_answer(told: Story, alice: User, repository: Repository) -> float:
    """Seconds from `/forge help` to its answer: the way in and out, with next to nothing in between."""
    issue = await alice.open_issue(repository, "Help")
    began = time.perf_counter()
    await alice.comment(issue, "/forge help")
    return await when(lambda: told.answers(issue)) - began


async def at_gate(told: Story, name: str) -> tuple[PullRequest, User]:
    """A pull request that waits for carol, who maintains."""
    repository, alice = told.repository({"app.py": APP, CI: WORKFLOW}, name)
    carol = told.github.user("carol")
    told.github.grant(repository, carol, "maintain")
    pull = await open_pull_request(alice, repository, "workflow", CHANGED)
    await when(lambda: find_check(told.github, pull, GATE) is not None)
    await told.settle()
    return pull, carol


GATE = "Forge / gate: protected_paths"


async def time_approval(told: Story, pull: PullRequest, carol: User, *, by_button: bool = False) -> tuple[float, float]:
    """Seconds from an approval to the gate's check green, and to the verdict's."""
    told.clock.move(seconds=2)  # GitHub cuts the moment of writing to the second
    began = time.perf_counter()
    if by_button:
        asked = find_check(told.github, pull, GATE)
        assert asked is not None
        await carol.press(asked, "approve")
    else:
        await carol.comment(pull, "/forge approve")
    green = await when(lambda: concludes(told.github, pull, "success", GATE)) - began
    return green, await when(lambda: concludes(told.github, pull, "success")) - began


async def time_flood(told: Story, alice: User, repository: Repository) -> list[float]:
    """Open a pull request from each branch at once; seconds to each verdict."""
    began = time.perf_counter()

    async def one(number: int) -> float:
        pull = await alice.open_pull_request(repository, f"b{number}")
        return await when(lambda: concludes(told.github, pull)) - began

    return await asyncio.gather(*(one(number) for number in range(AT_ONCE)))


def view_all(told: Story) -> None:
    """Nothing that Forge said is left unseen."""
    for repository in told.github.world.repositories.values():
        for issue in repository.issues.values():
            told.answers(issue)
            told.questions(issue)
            if isinstance(issue, PullRequest):
                told.comments(issue)


def busiest(told: Story, seconds: float, *, creates: bool = False) -> int:
    """The most writes that took effect within any such time.

    :param creates: only those that create content.
    """
    made = [each for each in told.github.requests if each.write and each.applied]
    at = [each.time.timestamp() for each in made if not creates or Write.to(each.method, each.path[1:]).creates]
    return max((sum(begin <= each < begin + seconds for each in at) for begin in at), default=0)


def row(what: str, seconds: Sequence[float], bar: float | None = None) -> None:
    """One line of the table."""
    wanted = "" if bar is None else f"   bar {bar:.1f}"
    print(f"{what:58}{statistics.median(seconds):8.2f}{max(seconds):8.2f}{wanted}")


async def test_what_people_wait_for(tmp_path: Path) -> None:
    print(f"\n\n{'seconds':58}{'median':>8}{'last':>8}")
    async with deploy_forge(tmp_path / "alone") as told:
        repository, alice = told.repository({"app.py": APP})
        there_and_back = [await time_answer(told, alice, repository) for _ in range(5)]
        row("/forge help to its answer", there_and_back)
        answer = statistics.median(there_and_back)
        for what, files in (("nothing found", SAME), ("a finding, commented on", BROKEN)):
            took = list[float]()
            CHECKS.clear()
            for number in range(5):
                took.append(await verdict(told, alice, repository, f"{what[0]}{number}", files))
                await told.settle()
            row(f"opened to verdict, {what}", took, VERDICT_BAR)
            row("  of which the checks", CHECKS)
            assert statistics.median(took) - statistics.median(CHECKS) < VERDICT_RATIO * answer
        for by_button in (False, True):
            waited = list[tuple[float, float]]()
            for number in range(4):
                pull, carol = await at_gate(told, f"octo-org/gate-{by_button}-{number}")
                waited.append(await time_approval(told, pull, carol, by_button=by_button))
                await told.settle()
            how = "a button" if by_button else "a comment"
            row(f"approved by {how} to the gate's check green", [green for green, _ in waited], GREEN_BAR)
            row(f"approved by {how} to the verdict green", [both for _, both in waited])
            assert statistics.median(green for green, _ in waited) < GREEN_RATIO * answer
        view_all(told)


async def test_twenty_at_once(tmp_path: Path) -> None:
    print(f"\n\n{'seconds':58}{'median':>8}{'last':>8}")
    for what, files in (("nothing found", SAME), ("a finding each", BROKEN)):
        async with deploy_forge(tmp_path / what) as told:
            repository, alice = told.repository({"app.py": APP})
            waiting, carol = await at_gate(told, "octo-org/quiet")
            for number in range(AT_ONCE):
                each = {"app.py": f"{files['app.py']}# {number}\n"}  # heads of their own: one check is of one head
                await alice.push(repository, f"b{number}", each, base="main")
            flood = asyncio.create_task(time_flood(told, alice, repository))
            await asyncio.sleep(2)
            green, both = await time_approval(told, waiting, carol)
            took = await flood
            await told.settle()
            row(f"{AT_ONCE} opened at once to verdict, {what}", took, LAST_BAR)
            row("  meanwhile elsewhere: approved to the gate's check green", [green], GREEN_BAR)
            row("  meanwhile elsewhere: approved to the verdict green", [both])
            kinds = Counter(each.method for each in told.github.requests if each.write and each.applied)
            minute, hour = busiest(told, 60), busiest(told, 3_600, creates=True)
            print(f"  writes: {dict(kinds)}; most in a minute {minute} of {PER_MINUTE}, ", end="")
            print(f"of content in an hour {hour} of {PER_HOUR}")
            assert minute <= PER_MINUTE
            assert hour <= PER_HOUR
            assert green * FLOOD_SHARE < max(took)
            view_all(told)
