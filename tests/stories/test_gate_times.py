"""Nobody answers: the time runs out, which is a rejection, and whom the repository names is told once."""

import pytest
from inline_snapshot import snapshot

from domain.events import EventType
from tests.stories.driver import Story
from tests.stories.gate_scenes import open_scene
from tests.world.replies import bodies

pytestmark = pytest.mark.parametrize("story", ["sqlite"], indirect=True)

NAMED = 'gates:\n  protected_paths: {timeout: 3h, escalate: ["@dora", "@octo-org/owners"]}\n'
LOOK = "look: {phase: review, when: 'review.files_changed > 1', prompt: Is it meant}\n"
OVER = "protected_paths: Expired: nobody answered in {}"


async def test_the_time_runs_out_and_the_named_people_are_told_once(story: Story) -> None:
    scene = await open_scene(story, configuration=NAMED)
    assert story.gates(scene.pull) == ["protected_paths"]
    await story.wait(hours=2, minutes=59)
    assert story.gates(scene.pull) == ["protected_paths"]
    await story.wait(minutes=2)

    assert await story.outcome() == ("failed", "gate_timeout")
    assert story.gate_outcomes(scene.pull) == [OVER.format("3 hours")]
    gate = scene.gate("protected_paths")
    assert (gate.conclusion, gate.actions) == ("action_required", [])
    assert scene.conclusion == "action_required"
    assert "Nobody answered protected_paths in time" in scene.summary
    [escalation] = story.answers(scene.pull)
    assert (escalation.body.count("@dora"), escalation.body.count("@octo-org/owners")) == (1, 1)
    assert "Say `/forge review full` to ask again." in escalation.body
    assert [label.name for label in scene.pull.labels] == ["forge: nobody answered"]
    assert len(await scene.events(EventType.gate_expired)) == 1
    assert len(await scene.events(EventType.gate_escalated)) == 1

    await story.wait(days=3)
    assert len(story.answers(scene.pull)) == 1
    assert "Expired: nobody answered in 3 hours" in await scene.comment(scene.carol, "/forge approve protected_paths")
    await scene.comment(scene.alice, "/forge review full")
    assert story.gates(scene.pull) == ["protected_paths"]
    assert "Approved by" in await scene.comment(scene.carol, "/forge approve")
    assert scene.conclusion == "success"
    assert story.gate_outcomes(scene.pull) == snapshot(
        [
            "protected_paths: Expired: nobody answered in 3 hours",
            "protected_paths: Approved by carol",
        ]
    )


async def test_without_a_name_nobody_is_mentioned(story: Story) -> None:
    scene = await open_scene(story)
    await story.wait(hours=25)
    assert story.gate_outcomes(scene.pull) == [OVER.format("1 day")]
    assert story.answers(scene.pull) == []
    assert scene.conclusion == "action_required"


async def test_an_approval_that_was_written_in_time_and_heard_too_late(story: Story) -> None:
    """What counts is when Forge can decide it: past the time nobody can."""
    scene = await open_scene(story)
    story.clock.move(hours=23)
    story.github.hold_deliveries()
    await scene.carol.comment(scene.pull, "/forge approve protected_paths")
    await story.wait(hours=2)
    story.github.release_deliveries()
    await story.settle()
    assert bodies(story.answers(scene.pull)) == snapshot(
        [
            "`protected_paths` (G-ID) is over on TIME. Expired: nobody answered in 1 day. Say `/forge review full` to ask again."
        ]
    )
    assert (await scene.run()).reason == "gate_timeout"
    assert story.gate_outcomes(scene.pull) == [OVER.format("1 day")]


async def test_two_gates_of_which_one_runs_out(story: Story) -> None:
    """One that nobody answered ends the run, and what else it asked."""
    scene = await open_scene(
        story, {".github/workflows/ci.yml": "a: b\n", "auth/session.py": "VALUE = 1\n" * 20}, f"{NAMED}  {LOOK}"
    )
    assert story.gates(scene.pull) == ["protected_paths", "look"]
    await story.wait(hours=4)
    assert OVER.format("3 hours") in story.gate_outcomes(scene.pull)
    assert len(story.gate_outcomes(scene.pull)) == 2
    assert scene.gate("look").conclusion == "cancelled"
    assert await story.outcome() == ("failed", "gate_timeout")
    assert len(story.answers(scene.pull)) == 1
