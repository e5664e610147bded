"""Rules that want signed commits: GitHub makes Forge's commits and signs them, and where it does not, Forge says so."""

import pytest
from inline_snapshot import snapshot

from agents.llm.scripted import ScriptedModel
from messages.pull_request import UNSIGNED
from simulator.state import Repository
from tests.stories.driver import Story
from tests.world.automation import APP, at_level, list_actions, open_pull_request
from tests.world.cart import DIFF
from tests.world.issues import DONE, TASK, get_pull_request, open_issue, patches, plan
from tests.world.replies import first_lines
from tests.world.verification import get_outcome

pytestmark = pytest.mark.tells("ruleset_id", "protection")  # whom a rule binds; which checks a branch requires
UNUSED = APP.replace("import os\n", "import os\nimport sys\n")


def is_signed(repository: Repository, since: str, head: str) -> list[bool]:
    """For each commit that a branch gained whether GitHub signed it."""
    return [repository.git.is_signed(each.sha) for each in repository.git.commits_between(since, head)]


@pytest.mark.parametrize("is_ruleset", [True, False])
async def test_an_issue_is_carried_out_where_signatures_are_required(
    story: Story, model: ScriptedModel, is_ruleset: bool
) -> None:
    asked = await open_issue(story)
    base = asked.repository.git.branch("main") or ""
    story.github.protect(asked.repository, "forge/*", ruleset=is_ruleset, signed=True)
    model.when("Title: Discounts", plan())
    model.when(TASK, patches(DIFF), DONE)
    await asked.comment(asked.alice, "/forge run")
    pull = get_pull_request(asked)
    assert set(is_signed(asked.repository, base, pull.head_sha)) == {True}
    [made, *_] = asked.repository.git.commits_between(base, pull.head_sha)
    assert made.author_email == story.github.app.bot.email
    story.pass_over(pull)


async def test_a_branch_is_refused_where_github_signs_nothing(story: Story, model: ScriptedModel) -> None:
    """Once the App may bypass the rule, the same command goes through."""
    asked = await open_issue(story)
    story.github.world.signs_commits = False
    rules = story.github.protect(asked.repository, "forge/*", ruleset=True, signed=True)
    model.when("Title: Discounts", plan())
    model.when(TASK, patches(DIFF), DONE)
    await asked.comment(asked.alice, "/forge run")
    assert asked.status.startswith("**GitHub refused the branch")
    assert UNSIGNED in asked.status
    assert await get_outcome(story) == ("failed", "error")
    rules.bypassed = True
    model.when("Title: Discounts", plan())
    model.when(TASK, patches(DIFF), DONE)
    await asked.comment(asked.alice, "/forge run")
    pull = get_pull_request(asked)
    assert is_signed(asked.repository, asked.repository.git.branch("main") or "", pull.head_sha) == [False]
    story.pass_over(pull)


@pytest.mark.parametrize("story", ["sqlite"], indirect=True)
async def test_a_correction_is_signed(story: Story) -> None:
    repository, alice, _ = await at_level(story, 2)
    story.github.protect(repository, "feature", ruleset=True, signed=True)
    pull, head = await open_pull_request(story, repository, alice, {"app.py": UNUSED})
    assert is_signed(repository, head, pull.head_sha) == [True]
    assert [act for act, _, _ in await list_actions(story)] == ["auto_fix"]
    story.pass_over(pull)


@pytest.mark.parametrize("story", ["sqlite"], indirect=True)
async def test_a_correction_that_github_refuses_is_told_in_the_check(story: Story) -> None:
    repository, alice, _ = await at_level(story, 2)
    story.github.world.signs_commits = False
    story.github.protect(repository, "feature", ruleset=True, signed=True)
    pull, head = await open_pull_request(story, repository, alice, {"app.py": UNUSED})
    assert (pull.head_sha, await list_actions(story)) == (head, [])
    summary = story.check(repository, head).summary or ""
    assert "**GitHub did not take an automatic fix of this head:**" in summary
    assert UNSIGNED in summary
    assert first_lines(story.comments(pull)) == snapshot(["🟡 **Warning** · correctness"])
