"""Where few repositories are chosen for Forge it introduces itself in each, once, in an issue."""

from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, text

from github.registration import load_permissions
from memory.db.tables.deliveries import DeliveryRow
from simulator.state import Issue, PullRequest, Repository
from tests.databases import create_database, drop_database
from tests.stories.driver import Story, open_story

pytestmark = pytest.mark.tells("repositories")  # which ones Forge was installed for
FILES = {
    "shop/__init__.py": "",
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
    async with open_story(url, tmp_path, welcome=True) as started:
        yield started
    drop_database(url)


def list_issues(story: Story, repository: Repository) -> list[Issue]:
    mine = [each for each in repository.issues.values() if each.user is story.github.app.bot]
    return [each for each in mine if not isinstance(each, PullRequest)]


async def test_a_chosen_repository_gets_one_issue(told: Story) -> None:
    """It says what Forge sees there; uninstalled and installed again, Forge does not say so again."""
    repository = told.github.create_repository("octo-org/shop", files=FILES)
    installation = told.github.install(repository, permissions=load_permissions())
    await told.settle()
    [issue] = list_issues(told, repository)
    body = issue.body or ""
    assert issue.title == "Forge works here now"
    assert "**Languages:** Python, JavaScript." in body
    assert "**Checked by:** `ruff`, `oxlint`, `zizmor`, and a search" in body
    assert "**Tests:** Pytest, because it is configured." in body
    assert "**Not run:** eslint, although there is `eslint.config.js`." in body
    assert "`main` does not require the check `Forge / review`" in body
    assert "Nothing goes to a model" in body
    assert "Missing permissions" not in body

    told.github.uninstall(installation)
    await told.settle()
    async with told.forge.services.database.transaction() as session:
        kept: Sequence[Any] = (await session.execute(text("SELECT output FROM operation_outputs"))).scalars().all()
    assert not [each for each in kept if "eslint" in str(each)]
    told.github.install(repository)
    await told.settle()
    assert list_issues(told, repository) == [issue]


async def test_what_the_installation_lacks_is_said(told: Story) -> None:
    repository = told.github.create_repository("octo-org/shop", files=FILES)
    told.github.protect(repository, "main", ["Forge / review"])
    told.github.install(repository, permissions=load_permissions() | {"deployments": "read", "members": "none"})
    await told.settle()
    [issue] = list_issues(told, repository)
    assert "**Missing permissions:** `deployments: write`, `members: read`." in (issue.body or "")
    assert "does not require" not in (issue.body or "")


@pytest.mark.parametrize(
    "kind", ["no issues", "no permission", "archived", "no commit", "a fork", "level 0", "a dry run"]
)
async def test_no_issue_comes_where_none_belongs(kind: str, told: Story) -> None:
    settings = {"level 0": "ladder: {pinned: 0}\n", "a dry run": "review: {dry_run: true}\n"}
    files = {".github/forge.yml": settings[kind]} if kind in settings else {"a.txt": "1\n"}
    repository = told.github.create_repository(
        "octo-org/shop", files=files, commits=[] if kind == "no commit" else None
    )
    if kind == "a fork":
        repository = await told.github.user("bob").fork(repository)
    repository.has_issues, repository.archived = kind != "no issues", kind == "archived"
    issues = "read" if kind == "no permission" else "write"
    told.github.install(repository, permissions=load_permissions() | {"issues": issues})
    await told.settle()
    assert list_issues(told, repository) == []
    async with told.forge.services.database.transaction() as session:
        reasons = (await session.scalars(select(DeliveryRow.reason))).all()
    assert reasons == ["0 issues opened"]


async def test_many_repositories_get_no_issues(told: Story) -> None:
    """Nobody asks GitHub about them."""
    many = [told.github.create_repository(f"octo-org/r{number}") for number in range(5)]
    told.github.install(*many)
    await told.settle()
    assert [list_issues(told, each) for each in many] == [[]] * 5
    assert [each for each in told.github.requests if "/r0" in each.path] == []
    async with told.forge.services.database.transaction() as session:
        assert (await session.scalars(select(DeliveryRow.reason))).all() == ["too_many_to_welcome"]


async def test_repositories_that_nobody_chose_get_no_issues(told: Story) -> None:
    first = told.github.create_repository("octo-org/first")
    told.github.install(first, has_all=True)
    told.github.install(second := told.github.create_repository("octo-org/second"))
    await told.settle()
    assert [*list_issues(told, first), *list_issues(told, second)] == []


async def test_an_operator_switches_it_off(story: Story) -> None:
    repository, _ = story.repository({"a.txt": "1\n"})
    await story.settle()
    assert list_issues(story, repository) == []
