"""Pull requests on which people ask Forge for something, and what they hear."""

import re
from collections.abc import Mapping

from simulator import User
from simulator.gitstore import FileContent
from simulator.state import PullRequest, Repository
from tests.stories.driver import Story
from tests.world.issues import SHOP
from tests.world.replies import bodies

ASKED = "== instruction by"
"""What the model is shown that plans what somebody asks for."""
CONFLICT = "-- conflict 1"
"""What the model is shown that resolves what conflicts."""
NOTES: Mapping[str, FileContent] = {"NOTES.md": "Discounts come next.\n"}
BRANCH = "def total(prices, discount=0):\n    return sum(prices) * (1 - discount)\n"
BASE = "def total(prices):\n    return round(sum(prices), 2)\n"
"""What the two sides of a merge make of the shop's cart."""


async def open_pull(
    story: Story,
    files: Mapping[str, FileContent] = NOTES,
    base: Mapping[str, FileContent] | None = None,
    *,
    fork: bool = False,
    shop: Mapping[str, FileContent] = {},
) -> tuple[Repository, User, PullRequest]:
    """A pull request into a shop, and alice, who may write there.

    :param base: what its main branch gets meanwhile.
    :param fork: whether it is mallory's, from a fork; else alice opens it.
    :param shop: more files of it.
    """
    repository, alice = story.repository({**SHOP, **shop})
    author = story.github.user("mallory") if fork else alice
    home = await author.fork(repository) if fork else repository
    await author.push(home, "feature", files, base="main")
    pull = await author.open_pull_request(repository, "feature", title="Prepare discounts", head_repo=home)
    if base is not None:
        await alice.push(repository, "main", base, message="Round the total")
    await story.settle()
    story.pass_over(pull)
    return repository, alice, pull


def listen(story: Story, pull: PullRequest) -> list[str]:
    """All of Forge's answers, without the words that they answer."""
    return [re.sub(r"^> .*\n\n", "", each) for each in bodies(story.answers(pull))]


def hear(story: Story, pull: PullRequest) -> str:
    """Forge's last answer, without the words that it answers."""
    return listen(story, pull)[-1]


def list_own_branches(repository: Repository) -> list[str]:
    """The branches of Forge's."""
    return [ref for ref in repository.git.refs() if ref.startswith("refs/heads/forge/")]
