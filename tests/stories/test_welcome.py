"""When Forge is installed it introduces itself once: in an issue where few repositories were chosen, else in a check."""

from collections.abc import AsyncGenerator
from pathlib import Path

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
NEW = "<b>Forge is new here:</b>"
NEVER = {".github/forge.yml": "review: {model: never}\n"}  # so that a review of a note needs nobody


@pytest.fixture
async def told(tmp_path: Path) -> AsyncGenerator[Story]:
    """A story whose operator lets Forge introduce itself."""
    url = create_database("sqlite", tmp_path)
    async with open_story(url, tmp_path, welcome="issue") as started:
        yield started
    drop_database(url)


def list_issues(story: Story, repository: Repository) -> list[Issue]:
    mine = [each for each in repository.issues.values() if each.user is story.github.app.bot]
    return [each for each in mine if not isinstance(each, PullRequest)]


async def open_change(
    story: Story, repository: Repository, branch: str = "notes", content: str = "x = 1\n"
) -> PullRequest:
    alice = story.github.user("alice")
    story.github.grant(repository, alice, "write")
    await alice.push(repository, branch, {f"{branch}.py": content}, base=repository.default_branch)
    pull = await alice.open_pull_request(repository, branch)
    await story.settle()
    story.pass_over(pull)
    return pull


async def review_summary(story: Story, repository: Repository, branch: str = "notes") -> str:
    """What the check of a new pull request says."""
    pull = await open_change(story, repository, branch)
    return story.check(repository, pull.head_sha).summary or ""


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
        kept = (await session.execute(text("SELECT output FROM operation_outputs"))).scalars().all()
    assert not [each for each in kept if "eslint" in str(each)]
    told.github.install(repository)
    await told.settle()
    assert list_issues(told, repository) == [issue]
    assert NEW not in await review_summary(told, repository, "again")


async def test_what_the_installation_lacks_is_said(told: Story) -> None:
    repository = told.github.create_repository("octo-org/shop", files=FILES)
    told.github.protect(repository, "main", ["Forge / review"])
    told.github.install(repository, permissions=load_permissions() | {"deployments": "read", "members": "none"})
    await told.settle()
    [issue] = list_issues(told, repository)
    assert "**Missing permissions:** `deployments: write`, `members: read`." in (issue.body or "")
    assert "does not require" not in (issue.body or "")


async def test_without_the_permission_for_issues_the_first_review_says_it(told: Story) -> None:
    repository = told.github.create_repository("octo-org/shop", files=NEVER)
    told.github.install(repository, permissions=load_permissions() | {"issues": "read"})
    await told.settle()
    assert list_issues(told, repository) == []
    summary = await review_summary(told, repository)
    assert NEW in summary
    assert "`issues: write`" in summary
    assert NEW not in await review_summary(told, repository, "second")


async def test_what_was_said_stays_when_the_verdict_changes(told: Story) -> None:
    repository = told.github.create_repository("octo-org/shop", files=NEVER | {"app.py": "x = 1\n"})
    told.github.install(repository, permissions=load_permissions() | {"issues": "read"})
    pull = await open_change(told, repository, content="import os\n")
    before = told.check(repository, pull.head_sha).summary or ""
    [finding] = told.finding_names(pull)
    bob = told.github.user("bob")
    told.github.grant(repository, bob, "write")
    await bob.comment(pull, f"/forge dismiss {finding} it is a sample")
    await told.settle()
    told.pass_over(pull)
    after = told.check(repository, pull.head_sha).summary or ""
    assert after != before
    assert NEW in before
    assert NEW in after


@pytest.mark.parametrize("kind", ["no issues", "no commit", "a fork", "level 0"])
async def test_no_issue_comes_where_none_belongs(kind: str, told: Story) -> None:
    files = {".github/forge.yml": "ladder: {pinned: 0}\n"} if kind == "level 0" else {"a.txt": "1\n"}
    repository = told.github.create_repository(
        "octo-org/shop", files=files, commits=[] if kind == "no commit" else None
    )
    if kind == "a fork":
        repository = await told.github.user("bob").fork(repository)
    repository.has_issues = kind != "no issues"
    told.github.install(repository)
    await told.settle()
    assert list_issues(told, repository) == []
    async with told.forge.services.database.transaction() as session:
        reasons = (await session.scalars(select(DeliveryRow.reason))).all()
    assert reasons == ["0 issues opened, 1 told in their first review"]


async def test_an_archived_repository_hears_nothing(told: Story) -> None:
    repository = told.github.create_repository("octo-org/shop")
    repository.archived = True
    told.github.install(repository)
    await told.settle()
    assert list_issues(told, repository) == []
    assert NEW not in await review_summary(told, repository)


async def test_many_repositories_get_no_issues(told: Story) -> None:
    """Nobody asks GitHub about them before there is something to review."""
    many = [told.github.create_repository(f"octo-org/r{number}", files=NEVER) for number in range(5)]
    told.github.install(*many)
    await told.settle()
    assert [list_issues(told, each) for each in many] == [[]] * 5
    assert [each for each in told.github.requests if "/r0" in each.path] == []
    assert NEW in await review_summary(told, many[0])


async def test_repositories_that_nobody_chose_get_no_issues(told: Story) -> None:
    first = told.github.create_repository("octo-org/first")
    told.github.install(first, has_all=True)
    told.github.install(second := told.github.create_repository("octo-org/second"))
    await told.settle()
    assert [*list_issues(told, first), *list_issues(told, second)] == []


@pytest.mark.parametrize("way", ["check", "off"])
async def test_a_repository_says_what_it_wants(way: str, told: Story) -> None:
    files = {".github/forge.yml": f"welcome: {way}\nreview: {{model: never}}\n"}
    repository = told.github.create_repository("octo-org/shop", files=files)
    told.github.install(repository)
    await told.settle()
    assert list_issues(told, repository) == []
    assert (NEW in await review_summary(told, repository)) == (way == "check")


async def test_an_operator_switches_it_off(story: Story) -> None:
    repository, _ = story.repository({"a.txt": "1\n"})
    await story.settle()
    assert list_issues(story, repository) == []
    assert NEW not in await review_summary(story, repository)
