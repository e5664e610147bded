"""Two merge bases: what the reviewed difference hides, a merge brings back."""

from datetime import timedelta

import pytest

from simulator.gitstore import Commit
from tests.databases import Backend
from tests.stories.driver import Story
from tests.world.automation import approvals, at_level, git, jump_ahead, settle_looks

LEAK, FIXED = "def main():\n    return True\n", "def main():\n    return False\n"


pytestmark = pytest.mark.usefixtures("model")  # it reads all that Forge may approve or merge, and finds nothing


@pytest.fixture
def backend() -> Backend:
    """This says nothing about the database."""
    return "sqlite"


async def test_t_p13_a_fix_of_the_base_is_not_taken_back_by_a_note(story: Story) -> None:
    """Git names the newer of two merge bases, whose date its author chose: the difference would be one note."""
    repository, alice, carol = await at_level(story, 4, files={"app.py": LEAK})
    later = story.clock.now() + timedelta(days=1)
    note = Commit("A note", {"docs/one.md": "A note.\n"}, date=later)
    await alice.push_commits(repository, "one", [note], base="main")
    first = repository.git.branch("one") or ""
    fix = await carol.push(repository, "main", {"app.py": FIXED})
    await alice.merge(await alice.open_pull_request(repository, "one"))
    await settle_looks(story)
    who = ("-c", "user.name=a", "-c", "user.email=a@b.example")
    merged = git(repository, *who, "commit-tree", f"{first}^{{tree}}", "-p", first, "-p", fix, "-m", "Merge main")
    await alice.reset_branch(repository, "two", merged)
    head = await alice.push(repository, "two", {"docs/two.md": "Another note.\n"})

    pull = await alice.open_pull_request(repository, "two")
    await settle_looks(story)
    await jump_ahead(story, minutes=30)
    story.pass_over(pull)

    check = story.check(repository, head)
    assert (pull.state, approvals(story, pull), check.conclusion) == ("open", [], "action_required")
    assert "merged into each other" in f"{check.title} {check.summary}"
    assert "/forge update" in (check.summary or "")
