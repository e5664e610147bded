"""People are asked, answer, and the run goes on; nobody's silence and no mistake ever does."""

import asyncio

import pytest
from pydantic import JsonValue

from agents.llm.scripted import ScriptedModel
from tests.stories.driver import Story
from tests.stories.gate_scenes import open_scene
from tests.world.issues import SHOP as ISSUE_SHOP
from tests.world.waiting import until


@pytest.mark.parametrize(
    ("said", "shown"), [("approve", "Approved by carol; goes on"), ("reject no", "Rejected by carol; ends")]
)
@pytest.mark.own_forge(concurrent_runs=1)
async def test_the_check_says_at_once_what_was_decided_while_another_run_has_the_only_place(
    story: Story, model: ScriptedModel, said: str, shown: str
) -> None:
    is_shown = asyncio.Event()

    async def plan(_content: str) -> dict[str, JsonValue]:
        await is_shown.wait()
        return {"plan": None, "questions": ["Which?"]}

    scene = await open_scene(story, configuration="review: {model: never}\n", there=ISSUE_SHOP)
    model.when("whole cart", plan)
    issue = await scene.alice.open_issue(scene.repository, "Discounts", "On the whole cart.")
    await scene.alice.comment(issue, "/forge plan")
    await until(lambda: bool(model.calls))
    assert scene.conclusion == "action_required"
    story.clock.move(seconds=2)  # GitHub cuts the moment of writing to the second
    await scene.carol.comment(scene.pull, f"/forge {said}")
    await until(lambda: story.check(scene.repository, scene.head).title == shown)
    is_shown.set()
    await story.settle()
    assert scene.conclusion == ("success" if said == "approve" else "failure")
    story.pass_over(scene.pull)
    story.pass_over(issue)
