"""When Forge is installed it introduces itself once: in an issue where few repositories were chosen, else in a check."""

import re
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path

import pytest

from simulator import Simulator
from simulator.state import Issue, Repository
from tests.clock import MovableClock
from tests.databases import create_database, drop_database
from tests.stories.driver import SECRET, Story, open_story, run_forge

FILES = {
    "shop/cart.py": "def total(prices):\n    return sum(prices)\n",
    "tests/test_cart.py": "from shop.cart import total\n\n\ndef test_total():\n    assert total([1]) == 1\n",
    "pyproject.toml": "[tool.pytest.ini_options]\n",
    "web/app.js": "export const one = 1;\n",
    "eslint.config.js": "export default [];\n",
    ".github/workflows/ci.yml": "on: push\njobs: {}\n",
}


@pytest.fixture
async def told(tmp_path: Path) -> AsyncGenerator[Story]:
    """A story whose operator lets Forge introduce itself."""
    url = create_database("sqlite", tmp_path)
    async with open_story(url, tmp_path, welcome="issue") as started:
        yield started
    drop_database(url)


def issues(story: Story, repository: Repository) -> list[Issue]:
    return [each for each in repository.issues.values() if each.user is story.github.app.bot]


async def first_summary(story: Story, repository: Repository) -> str:
    """The summary of the check of a first pull request."""
    alice = story.github.user("alice")
    story.github.grant(repository, alice, "write")
    pull = await alice.open_pull_request(repository, {"notes.txt": "One.\n"})
    await story.settle()
    story.pass_over(pull)
    return story.check(repository, pull.head_sha).summary or ""


async def test_a_chosen_repository_gets_one_issue(told: Story) -> None:
    repository = told.github.create_repository("octo-org/shop", files=FILES)
    told.github.install(repository)
    await told.settle()
    [issue] = issues(told, repository)
    print(issue.body)
    assert issue.title == "Forge works here now"
    assert "Forge is new here" not in await first_summary(told, repository)
