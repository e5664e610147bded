"""Pull requests that wait at a gate."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from simulator import Simulator, User
from simulator.state import PullRequest, Repository
from tests.clock import MovableClock
from tests.databases import Backend, create_database, drop_database
from tests.stories.driver import SECRET, Story
from tests.stories.gate_scenes import WORKFLOW


async def open_protected(story: Story) -> tuple[Repository, User, User, PullRequest, str]:
    """A pull request of alice's that changes a protected path; carol maintains."""
    repository, alice = story.repository({"README.md": "# Shop\n", ".github/workflows/ci.yml": WORKFLOW})
    carol = story.member(repository, "carol", "maintain")
    changed = WORKFLOW.replace("make", "make test")
    pull, head = await story.propose(repository, alice, {".github/workflows/ci.yml": changed})
    return repository, alice, carol, pull, head


@asynccontextmanager
async def open_world(backend: Backend, folder: Path) -> AsyncGenerator[tuple[Simulator, MovableClock, str]]:
    """GitHub, a clock and a database, on which one Forge after another runs."""
    clock, url = MovableClock(), create_database(backend, folder)
    async with Simulator(folder / "github", webhook_secret=SECRET, now=clock.now) as github:
        yield github, clock, url
    drop_database(url)
