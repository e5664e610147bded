"""What stops an agent that gets nowhere, and what people see of it."""

from inline_snapshot import snapshot

from agents.llm.scripted import ScriptedModel, Uses
from tests.stories.driver import Story
from tests.world.cart import DIFF
from tests.world.issues import DONE, TASK, get_pull_request, open_issue, patches, plan
from tests.world.replies import first_lines
from tests.world.verification import events, get_outcome


def outside(words: str) -> str:
    """A diff of a file that the plan does not let it change."""
    return f"--- a/README.md\n+++ b/README.md\n@@ -1,1 +1,1 @@\n-# Shop\n+# {words}\n"


async def test_tools_that_refuse_for_the_same_reason_stop_a_task(story: Story, model: ScriptedModel) -> None:
    """However the agent words what it asks for, and although it looks around meanwhile."""
    asked = await open_issue(story)
    model.when("Title: Discounts", plan())
    looks = ("grep", {"pattern": "total"})
    attempts = [Uses([("apply_patch", {"diff": outside(words)}), looks]) for words in ("One", "Two", "Three", "Four")]
    model.when(TASK, *attempts[:3], patches(DIFF), DONE)
    await asked.comment(asked.alice, "/forge run")
    assert story.gates(asked.issue) == ["guard"]
    [question] = story.questions(asked.issue)
    assert "The last 3 iterations had the same kind of error" in question.body
    assert "apply_patch: README.md (allowed_areas)" in question.body
    assert "3 errors" in question.body
    told = await asked.comment(asked.alice, "/forge history")
    assert "| 1 | " in told
    assert "| `plan 1` | `report` |  |" in told
    assert "| `implement T1 3` | `apply_patch`; `grep` `total` | apply_patch: README.md (allowed_areas) |" in told
    await asked.comment(asked.alice, "/forge continue 5it")
    assert story.gate_outcomes(asked.issue) == ["guard: Approved by alice"]
    assert await get_outcome(story) == ("completed", "proposed")
    assert first_lines(story.comments(get_pull_request(asked))) == snapshot([])


async def test_who_looks_for_a_file_is_not_stopped(story: Story, model: ScriptedModel) -> None:
    """Wrong paths are guessed; each is another one."""
    asked = await open_issue(story)
    guesses = [Uses([("read_file", {"path": f"shop/{name}.py"})]) for name in ("carts", "basket1", "basket2", "total")]
    model.when("Title: Discounts", *guesses, plan())
    model.when(TASK, patches(DIFF), DONE)
    await asked.comment(asked.alice, "/forge run")
    assert story.gates(asked.issue) == []
    assert await get_outcome(story) == ("completed", "proposed")
    assert first_lines(story.comments(get_pull_request(asked))) == snapshot([])


async def test_an_agent_that_sees_nothing_new_is_warned_of_and_stopped(story: Story, model: ScriptedModel) -> None:
    """It goes back and forth, in no circle."""
    asked = await open_issue(story)
    words = ["total", "prices", "sum", "prices", "total"]
    model.when("Title: Discounts", *(Uses([("grep", {"pattern": word})]) for word in words), plan())
    model.when(TASK, patches(DIFF), DONE)
    await asked.comment(asked.alice, "/forge run")
    assert story.gates(asked.issue) == []
    assert await get_outcome(story) == ("completed", "proposed")
    assert [(each["name"], each["turn"]) for each in await events(story, "breaker.warning")] == [("stagnation", 5)]
    assert first_lines(story.comments(get_pull_request(asked))) == snapshot([])
