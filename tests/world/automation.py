"""Repositories in which Forge acts by itself."""

import asyncio
import time
from collections.abc import Awaitable
from typing import TypeVar

from memory.repositories import automation_level
from memory.runs import waits
from simulator import User
from simulator.state import PullRequest, Repository, Review
from tests.stories.driver import PATIENCE, Story

T = TypeVar("T")
APP = "import os\n\n\ndef main():\n    return os.name\n"


BROKEN = APP.replace("os.name", "os.name + missing")


TWO = "import os\nimport re\nimport sys\n\n\ndef main():\n    return os.name\n"


async def at_level(
    story: Story, level: int, forge_yml: str | None = None, files: dict[str, str] | None = None
) -> tuple[Repository, User, User]:
    """A repository at a level; alice writes, carol is an admin."""
    configured = {} if forge_yml is None else {".github/forge.yml": forge_yml}
    repository, alice = story.repository({"app.py": APP, "README.md": "# Shop\n", **configured, **(files or {})})
    carol = story.member(repository, "carol", "admin")
    await set_level(story, repository, level)
    return repository, alice, carol


async def set_level(story: Story, repository: Repository, level: int) -> None:
    """From the story's beginning on, the repository is at this level."""
    database, now = story.forge.services.database, story.clock.now()
    await automation_level.set_level(database, repository.id, level, "carol", "the story's beginning", now)


async def open_pull_request(
    story: Story, repository: Repository, by: User, files: dict[str, str], branch: str = "feature"
) -> tuple[PullRequest, str]:
    """A pull request, reviewed, and acted on as far as that is possible at once."""
    head = await by.push(repository, branch, files, base="main")
    pull = await after_looks(story, by.open_pull_request(repository, branch))
    story.pass_over(pull)
    return pull, head


async def settle_looks(story: Story) -> None:
    """Wait until everything is done that can be done now, looks that are due included."""
    end = time.monotonic() + PATIENCE
    while True:
        await story.settle()
        if not await waits.list_due_checks(story.forge.services.database, story.clock.now()):
            break
        assert time.monotonic() < end, "a look that is due did not begin"
        await asyncio.sleep(0.05)
    await story.settle()


async def after_looks(story: Story, what: Awaitable[T]) -> T:
    """What somebody does, when everything is done that can be done then, looks that are due included."""
    done = await what
    await settle_looks(story)
    return done


async def jump_ahead(story: Story, **by: float) -> None:
    story.clock.move(**by)
    await settle_looks(story)


def approvals(story: Story, pull: PullRequest) -> list[Review]:
    return [review for review in story.reviews(pull) if review.state == "APPROVED"]


def announcements(story: Story, pull: PullRequest) -> list[str]:
    return [each.body for each in story.answers(pull) if each.body.startswith("**Forge ")]


async def list_actions(story: Story) -> list[tuple[str, int, str]]:
    """(act, level, rule) of everything that was done unasked, by the audit."""
    database = story.forge.services.database
    return [
        (each["act"], each["level"], each["rule"])
        for run in await story.runs()
        for each in await automation_level.list_actions(database, run.id)
    ]


def git(repository: Repository, *arguments: str) -> str:
    return repository.git.run(*arguments).stdout.decode().strip()


async def open_approved(story: Story) -> tuple[Repository, User, PullRequest]:
    """A pull request that Forge approved, into a branch that requires one approval."""
    repository, alice, _ = await at_level(story, 2)
    story.github.protect(repository, "main", approvals=1)
    pull, _ = await open_pull_request(story, repository, alice, {"README.md": "# Store\n"})
    assert len(approvals(story, pull)) == 1
    return repository, alice, pull
