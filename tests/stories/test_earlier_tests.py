"""What the tests of before say of the new code: a person's pull request, from the check to a maintainer's answer."""

from collections.abc import Mapping

import pytest

from simulator import User
from simulator.state import CheckRun, PullRequest
from tests.stories.driver import Story

CODE = "def total(prices):\n    return sum(prices)\n\n\ndef tax(price):\n    return price // 5\n"
BROKEN = CODE.replace("sum(prices)", "sum(prices[1:])")
TEST = (
    "import shop\n\n\ndef test_total():\n    assert shop.total([1, 2]) == 3\n\n\n"
    "def test_empty():\n    assert shop.total([]) == 0\n"
)
TAX = "import shop\n\n\ndef test_tax():\n    assert shop.tax(10) == 2\n"
FILES = {
    "shop.py": CODE,
    "tests/test_shop.py": TEST,
    "tests/test_tax.py": TAX,
    "pytest.ini": "[pytest]\npythonpath = .\n",
}
WITHOUT = "import shop\n\n\ndef test_empty():\n    assert shop.total([]) == 0\n"
HIDES = {"shop.py": BROKEN, "tests/test_shop.py": WITHOUT}


@pytest.fixture
def backend() -> str:
    """These say nothing about the database."""
    return "sqlite"


async def propose(
    story: Story, changed: Mapping[str, str | None], settings: str = ""
) -> tuple[PullRequest, User, User]:
    """A pull request of alice; carol maintains."""
    configured = {".github/forge.yml": settings} if settings else {}
    repository, alice = story.repository({**FILES, **configured})
    carol = story.github.user("carol")
    story.github.grant(repository, carol, "maintain")
    await alice.push(repository, "work", changed, base="main")
    pull = await alice.open_pull_request(repository, "work", "main", title="Tidy up")
    await story.settle()
    return pull, alice, carol


def find_check(story: Story, pull: PullRequest) -> CheckRun:
    return story.check(pull.repository, pull.head_sha)


async def test_a_maintainer_decides_about_a_removed_test_that_fails(story: Story) -> None:
    pull, alice, carol = await propose(story, HIDES)
    check = find_check(story, pull)
    assert check.conclusion == "action_required"
    assert "`tests/test_shop.py::test_total` fails." in (check.summary or "")
    assert "assert shop.total([1, 2]) == 3" in (check.summary or "")
    [comment] = story.comments(pull)
    assert "The test `tests/test_shop.py::test_total` passed before this change" in comment.body
    assert story.gates(pull) == ["destructive"]
    await alice.comment(pull, "/forge approve destructive")
    await story.settle()
    assert find_check(story, pull).conclusion == "action_required"
    await carol.comment(pull, "/forge approve destructive")
    await story.settle()
    assert find_check(story, pull).conclusion == "success"
    story.pass_over(pull)
    print(check.title, check.summary, comment.body, story.questions(pull)[0].body, sep="\n=====\n")
