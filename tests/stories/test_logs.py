"""What an operator reads in the log."""

from structlog.contextvars import merge_contextvars
from structlog.testing import capture_logs

from tests.stories.driver import Story
from tests.stories.gate_scenes import open_scene


async def test_a_line_names_the_run_or_the_delivery_it_belongs_to(story: Story) -> None:
    """Whoever wrote it knew nothing of either."""
    scene = await open_scene(story)
    [question] = story.questions(scene.pull)
    await scene.carol.delete_comment(question)
    with capture_logs([merge_contextvars]) as lines:
        await scene.press(scene.carol, "approve", "protected_paths")
    run = await scene.run()
    [gone] = [each for each in lines if each["event"] == "gate.comment_gone"]
    assert gone["trace"] == run.id
    assert not [each for each in lines if "trace" in each and each["trace"] != run.id]
