"""Rules that want signed commits: Forge signs none, and says so before it works for nothing."""

import pytest
from inline_snapshot import snapshot

from agents.llm.scripted import ScriptedModel
from messages.pushes import UNSIGNED
from tests.stories.driver import Story
from tests.world.automation import APP, at_level, list_actions, open_pull_request
from tests.world.cart import DIFF
from tests.world.issues import DONE, TASK, get_pull_request, open_issue, patches, plan
from tests.world.model_findings import LINE, edit_lines, open_reviewed, write_fix
from tests.world.replies import first_lines
from tests.world.verification import get_outcome

pytestmark = pytest.mark.tells("ruleset_id", "protection")  # whom a rule binds; which checks a branch requires
UNUSED = APP.replace("import os\n", "import os\nimport sys\n")
WRONG = "    return sum(prices) / len(prices)"
TWO_PLACES = write_fix(
    edit_lines(1, "VALUE_0 = 0", "VALUE_0 = 0\nNONE = 0.0"),
    edit_lines(LINE, WRONG, f"{WRONG} if prices else NONE"),
)


async def test_a_run_does_not_begin_where_its_branch_would_be_refused(
    story_with_model: Story, model: ScriptedModel
) -> None:
    """Once the App may bypass the rule, the same command goes through."""
    asked = await open_issue(story_with_model)
    rules = story_with_model.github.protect(asked.repository, "forge/*", ruleset=True, signed=True)
    await asked.comment(asked.alice, "/forge run")
    assert asked.status.startswith("**Not started: GitHub would refuse the branch `forge/1-discounts`.**")
    assert UNSIGNED in asked.status
    assert (model.calls, await get_outcome(story_with_model)) == ([], ("failed", "error"))
    rules.bypassed = True
    model.when("Title: Discounts", plan())
    model.when(TASK, patches(DIFF), DONE)
    await asked.comment(asked.alice, "/forge run")
    assert get_pull_request(asked).head_ref == "forge/1-discounts"
    story_with_model.pass_over(get_pull_request(asked))


@pytest.mark.parametrize("story_with_model", ["sqlite"], indirect=True)
async def test_classic_branch_protection_is_told_before_and_otherwise_by_the_push(
    story_with_model: Story, model: ScriptedModel
) -> None:
    """GitHub tells the App of it by a branch that is there; without one the push is refused, and the comment says why."""
    asked = await open_issue(story_with_model)
    story_with_model.github.protect(asked.repository, "forge/*", signed=True)
    model.when("Title: Discounts", plan())
    model.when(TASK, patches(DIFF), DONE)
    await asked.comment(asked.alice, "/forge run")
    assert asked.status.startswith("**GitHub refused the branch")
    assert UNSIGNED in asked.status
    asked.repository.git.set_ref("refs/heads/forge/0-old", asked.repository.git.branch("main") or "")
    before = len(model.calls)
    await asked.comment(asked.alice, "/forge run")
    assert asked.status.startswith("**Not started: GitHub would refuse the branch `forge/1-discounts`.**")
    assert (len(model.calls), await get_outcome(story_with_model)) == (before, ("failed", "error"))


async def test_a_plan_pushes_nothing(story_with_model: Story, model: ScriptedModel) -> None:
    asked = await open_issue(story_with_model)
    story_with_model.github.protect(asked.repository, "forge/*", ruleset=True, signed=True)
    model.when("Title: Discounts", plan())
    await asked.comment(asked.alice, "/forge plan")
    assert "Not started" not in asked.status


async def test_a_fix_is_shown_where_its_branch_would_be_refused(story_with_model: Story, model: ScriptedModel) -> None:
    repository, _, carol, pull, comment = await open_reviewed(story_with_model, model)
    story_with_model.github.protect(repository, "forge/*", ruleset=True, signed=True)
    model.when("== finding", TWO_PLACES)
    await carol.reply(comment, "/forge fix")
    await story_with_model.settle()
    [reply] = story_with_model.thread_answers(pull, comment)
    assert "GitHub takes only signed commits on the branch forge/fix-" in reply.body
    assert "NONE = 0.0" in reply.body
    assert not [name for name in repository.git.refs() if "forge/" in name]


@pytest.mark.parametrize("story", ["sqlite"], indirect=True)
@pytest.mark.parametrize("is_ruleset", [True, False])
async def test_a_correction_that_github_refuses_is_told_in_the_check(story: Story, is_ruleset: bool) -> None:
    repository, alice, _ = await at_level(story, 2)
    story.github.protect(repository, "feature", ruleset=is_ruleset, signed=True)
    pull, head = await open_pull_request(story, repository, alice, {"app.py": UNUSED})
    assert (pull.head_sha, await list_actions(story)) == (head, [])
    summary = story.check(repository, head).summary or ""
    assert "**GitHub did not take an automatic fix of this head:**" in summary
    assert "What Forge pushes is not signed" in summary
    assert first_lines(story.comments(pull)) == snapshot(["🟡 **Warning** · correctness"])
