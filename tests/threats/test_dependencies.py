"""What set-ups of one job can do to those of the next through the dependency cache: nothing (T-S6)."""

from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from agents.testing import tester
from agents.testing.cache_warming import CacheWarmer
from agents.toolbox import Toolbox
from domain.config.configuration import Commands
from domain.review.review import RiskLevel
from domain.runs.testing import SuiteVerdict, TestRun, decide_verdict
from tests.threats.levels import CONTAINING
from tests.unit.workspace.remotes import AUTHORIZATION, Author, Remote, serve
from workspace.dependency_cache import DependencyCache
from workspace.mirror import Mirrors
from workspace.sandbox.sandbox import LIMITS, Sandbox

Files = Mapping[str, str | None]

COUNTS = 'mkdir -p "$HOME/.cache"; echo x >> "$HOME/.cache/count"; wc -l < "$HOME/.cache/count"; ls -A "$HOME/.cache"\n'
"""A set-up that says how often it ran on this home, and what it finds there."""
FIRST, NEXT = "1\ncount", "2\ncount"
PROJECT = {"setup.sh": COUNTS, "test.sh": "true\n", "requirements.txt": "tiny==1.0\n"}
COMMANDS = Commands(setup="sh setup.sh", test="sh test.sh")


@dataclass
class Jobs:
    """Pull requests against one repository, each tested by a job of its own."""

    author: Author
    remote: Remote
    mirrors: Mirrors
    toolbox: Toolbox
    cache: DependencyCache
    runs: list[TestRun] = field(default_factory=list[TestRun])

    async def start(self, files: Files, commands: Commands = COMMANDS, repository_id: int = 1) -> TestRun:
        """Test a pull request that changes some files, and do not wait for what goes on beside that."""
        base = self.author.git("rev-parse", "HEAD")
        head = self.author.commit({"change": str(len(self.runs)), **files}, "refs/heads/feature")
        self.author.git("reset", "-q", "--hard", base)
        mirror = await self.mirrors.mirror(repository_id, self.remote.url, AUTHORIZATION)
        await mirror.fetch(head, base, 1)
        change = await mirror.change(base, head)
        self.runs.append(await tester.Tester(mirror, self.toolbox, commands).test(change, RiskLevel.high))
        return self.runs[-1]

    async def test(self, files: Files, commands: Commands = COMMANDS, repository_id: int = 1) -> str:
        """What the set-up of a pull request says, once everything is over."""
        run = await self.start(files, commands, repository_id)
        await self.over()
        return run.commands[0].output.strip()

    async def over(self) -> None:
        assert self.toolbox.cache_warmer is not None
        await self.toolbox.cache_warmer.wait()

    @property
    def homes(self) -> list[Path]:
        """The homes that are kept."""
        return [size.parent / "home" for size in self.cache.root.glob("*/*/size")]


@pytest.fixture(params=CONTAINING)
async def jobs(request: pytest.FixtureRequest, author: Author, place: Path, tmp_path: Path) -> AsyncGenerator[Jobs]:
    cache = DependencyCache(tmp_path / "dependencies", most_bytes=100_000_000)
    author.commit(PROJECT)
    async with Toolbox.start(workers=1) as every, serve(author.remote.parent) as remote:
        levels = [known for known in every.sandbox.levels if known.level in {LIMITS, request.param}]
        sandbox = Sandbox(levels, every.sandbox.account)
        toolbox = replace(every, sandbox=sandbox, cache_warmer=CacheWarmer(cache))
        yield Jobs(author, remote, Mirrors(place / "mirrors", seconds=20), toolbox, cache)
        assert toolbox.cache_warmer is not None
        await toolbox.cache_warmer.close()


async def test_t_s6_a_job_begins_with_a_copy_and_what_it_does_to_that_goes_with_it(jobs: Jobs) -> None:
    spoils = 'echo poison >> "$HOME/.cache/count"; rm -rf "$HOME/.cache"; ln -s /etc "$HOME/.cache"; mkfifo "$HOME/f"\n'
    assert await jobs.test({}) == FIRST
    assert await jobs.test({"test.sh": spoils}) == NEXT
    assert await jobs.test({}) == NEXT
    assert [(home / ".cache/count").read_text() for home in jobs.homes] == ["x\n"]
    assert {decide_verdict(run) for run in jobs.runs} == {SuiteVerdict.passed}


async def test_t_s6_the_tests_wait_for_no_filling(jobs: Jobs) -> None:
    run = await jobs.start({})
    assert decide_verdict(run) is SuiteVerdict.passed
    assert jobs.homes == []
    await jobs.over()
    assert len(jobs.homes) == 1


EVIL = (
    'mkdir -p "$HOME/.cache" "$HOME/.npm/_cacache"; echo x | tee "$HOME/.cache/poison" "$HOME/.npm/_cacache/poison"\n'
)
HOSTILE: Files = {
    "setup.sh": EVIL,
    "test.sh": EVIL,
    "requirements.txt": "poison==1.0\n",
    "uv.lock": "poison",
    ".github/forge.yml": "commands: {setup: 'sh setup.sh', test: 'sh test.sh'}\n",
    "package.json": '{"scripts": {"build": "sh setup.sh"}}',
    "package-lock.json": "{}",
    "sh": f"#!/bin/sh\n{EVIL}",
    "sitecustomize.py": "raise SystemExit",
    ".npmrc": "cache=poison",
}


async def test_t_s6_nothing_of_a_pull_request_is_kept(jobs: Jobs) -> None:
    """Neither of the one that has the cache filled, nor of one that was given a copy."""
    for _ in range(2):
        await jobs.test(HOSTILE)
        assert await jobs.test({}) == NEXT
    [home] = jobs.homes
    assert sorted(str(path.relative_to(home)) for path in home.rglob("*")) == [".cache", ".cache/count"]


async def test_t_s6_inputs_that_a_pull_request_changes_do_not_move_the_key(jobs: Jobs) -> None:
    """Its own set-up downloads what its lock file names, into its own copy."""
    await jobs.test({})
    assert await jobs.test({"requirements.txt": "tiny==2.0\n", "uv.lock": "x"}) == NEXT
    assert len(jobs.homes) == 1


async def test_t_s6_what_was_installed_or_configured_is_not_kept(jobs: Jobs) -> None:
    """Or the tests of a change could run the code before it."""
    installs = (
        'mkdir -p "$HOME/.local/bin" "$HOME/bin"; echo x | tee "$HOME/.npmrc" "$HOME/.local/bin/x" "$HOME/bin/x"\n'
    )
    jobs.author.commit({"setup.sh": f'find "$HOME" -type f\n{installs}'})
    assert await jobs.test({}) == "x"
    assert await jobs.test({}) == "x"
    assert len(jobs.homes) == 1


ODD = {
    "a link out": 'ln -s /etc/passwd "$HOME/.cache/x"',
    "the home as a link": 'rm -rf "$HOME/.cache"; ln -s "$PWD" "$HOME/.cache"',
    "a FIFO": 'mkfifo "$HOME/.cache/x"',
    "a large file of holes": 'truncate -s 200M "$HOME/.cache/x"',
    "a set-up that fails": "exit 1",
}


async def test_t_s6_odd_homes_are_not_kept_and_end_no_test(jobs: Jobs) -> None:
    for what, script in ODD.items():
        jobs.author.commit({"setup.sh": f"{COUNTS}{script}\n"})
        assert await jobs.test({"setup.sh": COUNTS}) == FIRST
        assert jobs.homes == [], what
        assert (jobs.cache.root / "1" / "tried").exists()
    assert {decide_verdict(run) for run in jobs.runs} == {SuiteVerdict.passed}


RIGHTS = """python3 -c '
import os, sys
for folder, _, files in os.walk(sys.argv[1], topdown=False):
    for name in (*files, "."):
        os.fchmod(os.open(os.path.join(folder, name), os.O_RDONLY), int(sys.argv[2], 8))
' "$HOME/go" """


async def test_t_s6_what_is_read_only_is_copied_and_goes(jobs: Jobs) -> None:
    """As the modules of Go are."""
    downloads = 'test -d "$HOME/go" || { mkdir -p "$HOME/go/pkg/mod/x"; echo x > "$HOME/go/pkg/mod/x/x"; }\n'
    jobs.author.commit({"setup.sh": f'ls "$HOME"\n{downloads}{RIGHTS} 500\n'})
    assert await jobs.test({}) == ""
    assert await jobs.test({}) == "go"
    assert await jobs.test({"test.sh": f'{RIGHTS} 700 && echo y > "$HOME/go/pkg/mod/x/x"\n'}) == "go"
    assert decide_verdict(jobs.runs[-1]) is SuiteVerdict.passed
    [home] = jobs.homes
    assert (home / "go/pkg/mod/x/x").read_text() == "x\n"
    await jobs.cache.remove(1)
    assert list(jobs.cache.root.iterdir()) == []


async def test_t_s6_other_lock_files_of_the_default_branch_are_another_key(jobs: Jobs) -> None:
    await jobs.test({})
    jobs.author.commit({"README.md": "other\n"})
    assert await jobs.test({}) == NEXT
    jobs.author.commit({"requirements.txt": "tiny==2.0\n"})
    assert await jobs.test({}) == FIRST
    assert await jobs.test({}) == NEXT
    jobs.author.commit({"setup.sh": f"{COUNTS}true\n"})  # the set-up itself names it
    assert await jobs.test({}) == FIRST
    assert len(jobs.homes) == 2


async def test_t_s6_repositories_share_nothing(jobs: Jobs) -> None:
    await jobs.test({})
    assert await jobs.test({}, repository_id=2) == FIRST
    await jobs.cache.remove(1)
    assert await jobs.test({}, repository_id=2) == NEXT
    assert await jobs.test({}) == FIRST


async def test_t_s6_what_was_kept_is_never_why_a_set_up_fails(jobs: Jobs) -> None:
    fragile = 'test ! -e "$HOME/.cache/x" && mkdir -p "$HOME/.cache" && touch "$HOME/.cache/x"\n'
    jobs.author.commit({"setup.sh": fragile})
    for _ in range(2):
        await jobs.test({})
        assert decide_verdict(jobs.runs[-1]) is SuiteVerdict.passed
    assert len(jobs.homes) == 1


async def test_t_s6_where_nothing_is_set_up_nothing_is_kept(jobs: Jobs) -> None:
    await jobs.test({}, Commands(test="sh test.sh"))
    assert not jobs.cache.root.exists()


async def test_t_s6_without_a_cache_every_home_is_empty(jobs: Jobs) -> None:
    await jobs.test({})
    jobs.toolbox = replace(jobs.toolbox, cache_warmer=None)
    run = await jobs.start({})
    assert run.commands[0].output.strip() == FIRST
