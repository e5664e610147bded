"""Repositories in which Forge acts by itself."""

import asyncio
import time

from memory.repositories import automation_level
from memory.runs import scheduled_checks
from simulator import User
from simulator.state import PullRequest, Repository, Review
from tests.stories.driver import PATIENCE, Story

APP = "import os\n\n\ndef main():\n    return os.name\n"


BROKEN = APP.replace("os.name", "os.name + missing")


TWO = "import os\nimport re\nimport sys\n\n\ndef main():\n    return os.name\n"


async def at_level(
    told: Story, level: int, forge_yml: str | None = None, files: dict[str, str] | None = None
) -> tuple[Repository, User, User]:
    """A repository at a level; alice writes, carol is an admin."""
    configured = {} if forge_yml is None else {".github/forge.yml": forge_yml}
    repository, alice = told.repository({"app.py": APP, "README.md": "# Shop\n", **configured, **(files or {})})
    carol = told.github.user("carol")
    told.github.grant(repository, carol, "admin")
    database, now = told.forge.services.database, told.clock.now()
    await automation_level.set_level(database, repository.id, level, "carol", "the story's beginning", now)
    return repository, alice, carol


async def open_pull_request(
    told: Story, repository: Repository, by: User, files: dict[str, str], branch: str = "feature"
) -> tuple[PullRequest, str]:
    """A pull request, reviewed, and acted on as far as that is possible at once."""
    head = await by.push(repository, branch, files, base="main")
    pull = await by.open_pull_request(repository, branch)
    await settle_looks(told)
    told.comments(pull)
    return pull, head


async def settle_looks(told: Story) -> None:
    """Wait until everything is done that can be done now, looks that are due included."""
    end = time.monotonic() + PATIENCE
    while True:
        await told.settle()
        if not await scheduled_checks.list_due(told.forge.services.database, told.clock.now()):
            break
        assert time.monotonic() < end, "a look that is due did not begin"
        await asyncio.sleep(0.05)
    await told.settle()


async def jump_ahead(told: Story, **by: float) -> None:
    told.clock.move(**by)
    await settle_looks(told)


def approvals(told: Story, pull: PullRequest) -> list[Review]:
    return [review for review in told.reviews(pull) if review.state == "APPROVED"]


def announcements(told: Story, pull: PullRequest) -> list[str]:
    return [each.body for each in told.answers(pull) if each.body.startswith("**Forge ")]


async def list_actions(told: Story) -> list[tuple[str, int, str]]:
    """(act, level, rule) of everything that was done unasked, by the audit."""
    database = told.forge.services.database
    return [
        (each["act"], each["level"], each["rule"])
        for run in await told.runs()
        for each in await automation_level.list_actions(database, run.id)
    ]


def git(repository: Repository, *arguments: str) -> str:
    return repository.git.run(*arguments).stdout.decode().strip()


async def open_approved(told: Story) -> tuple[Repository, User, PullRequest]:
    """A pull request that Forge approved, into a branch that requires one approval."""
    repository, alice, _ = await at_level(told, 2)
    told.github.protect(repository, "main", approvals=1)
    pull, _ = await open_pull_request(told, repository, alice, {"README.md": "# Store\n"})
    assert len(approvals(told, pull)) == 1
    return repository, alice, pull
