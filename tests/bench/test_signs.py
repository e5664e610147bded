"""How soon people see something: the first sign, the verdict, and green after a gate's approval; alone and 20 at once.

By `forge serve` on SQLite, writes not paced, no model. The first sign is the check that says a review is in progress.
"""

import asyncio
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from simulator import Simulator
from simulator.state import Repository
from tests.bench.languages import LANGUAGES
from tests.bench.waiting import concludes, find_check, when
from tests.threats.serving import start_process

ALONE, AT_ONCE = 10, 20
LONG = 900.0  # seconds that a batch may take on a machine that has other things to do
MODULES = {f"pkg/m{number}.py": text for number, text in enumerate(LANGUAGES[0].sample(5))}
OWNERS = ".github/CODEOWNERS"


@dataclass
class _Seconds:
    """What each pull request took, from what a person did to what they see."""

    sign: list[float] = field(default_factory=list[float])
    verdict: list[float] = field(default_factory=list[float])
    green: list[float] = field(default_factory=list[float])

    def describe(self) -> str:
        named = (("first sign", self.sign), ("verdict", self.verdict), ("gate to green", self.green))
        return ", ".join(f"{name} {_describe(found)}" for name, found in named)


async def test_what_people_wait_for(tmp_path: Path) -> None:
    async with start_process("sqlite", tmp_path) as forge:
        repository = _prepare(forge.github)
        await _follow(forge.github, repository, "warm", _Seconds())
        alone, at_once = _Seconds(), _Seconds()
        for number in range(ALONE):
            await _follow(forge.github, repository, f"alone-{number}", alone)
        branches = [f"once-{number}" for number in range(AT_ONCE)]
        await asyncio.gather(*(_follow(forge.github, repository, branch, at_once) for branch in branches))
    print(f"\n\nOne after the other: {alone.describe()}\n{AT_ONCE} at once: {at_once.describe()}")


def _prepare(github: Simulator) -> Repository:
    repository = github.create_repository("octo-org/shop", files={"README.md": "# Shop\n", **MODULES})
    github.install(repository)
    for name in ("alice", "carol"):
        github.grant(repository, github.user(name), "maintain")
    return repository


async def _follow(github: Simulator, repository: Repository, branch: str, seconds: _Seconds) -> None:
    """Alice opens a change of five files of Python and their owners, and carol approves it."""
    alice, carol = github.user("alice"), github.user("carol")
    files = {path: f"{text}\n\ndef add_{len(branch)}(a, b):\n    return a + b\n" for path, text in MODULES.items()}
    await alice.push(repository, branch, {**files, OWNERS: f"*  @carol  # {branch}\n"}, base="main")
    pull = await alice.open_pull_request(repository, branch)
    opened = time.perf_counter()
    seconds.sign.append(await when(lambda: find_check(github, pull) is not None, LONG) - opened)
    seconds.verdict.append(await when(lambda: concludes(github, pull, "action_required"), LONG) - opened)
    await asyncio.sleep(1.1)  # who answers in the second in which a gate was asked may not have seen it
    await carol.comment(pull, "/forge approve protected_paths")
    answered = time.perf_counter()
    seconds.green.append(await when(lambda: concludes(github, pull, "neutral"), LONG) - answered)  # owners are no code


def _describe(found: Sequence[float]) -> str:
    return f"{statistics.median(found):.1f} s (most {max(found):.1f})"
