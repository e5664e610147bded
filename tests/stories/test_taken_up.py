"""A run of an issue that ended before it was through is taken up again, or done anew with its plan."""

from inline_snapshot import snapshot

from agents.llm.scripted import Reply, Says, ScriptedModel, Stalls
from tests.stories.driver import Story
from tests.world.cart import DIFF
from tests.world.issues import DONE, TASK, TEST, IssueScene, get_pull_request, open_issue, patches, plan
from tests.world.replies import first_lines

HELP = "help_needed"


async def start_issue(story: Story, model: ScriptedModel, *replies: Reply) -> IssueScene:
    asked = await open_issue(story)
    model.when("Title: Discounts", plan())
    model.when(TASK, *replies)
    return asked


def count_plans(model: ScriptedModel) -> int:
    """How often the planner was asked."""
    return sum("== issue 1 by" in call.content for call in model.calls)


async def test_a_run_that_was_stopped_goes_on(story: Story, model: ScriptedModel) -> None:
    """What was answered before is not asked, nor paid for, again; the comment says where it stands now."""
    asked = await start_issue(story, model, patches(DIFF, TEST), Stalls(20.0), DONE)
    await asked.alice.comment(asked.issue, "/forge run")
    while sum(TASK in call.content for call in model.calls) < 2:
        await story.wait_for_runs(1)
    await asked.comment(asked.alice, "/forge cancel")
    assert "a person stopped it" in asked.status
    assert "Planning was stopped" not in asked.status
    before = len(model.calls)
    said = await asked.comment(asked.alice, "/forge resume")
    assert "The run continues from its work so far" in said
    assert count_plans(model) == 1
    assert len([call for call in model.calls[before:] if TASK in call.content]) == 1
    assert not get_pull_request(asked).draft
    assert "Forge opened a pull request for this issue" in asked.status
    [run] = [each for each in await story.runs() if each.trigger == "issue"]
    assert (run.state, run.reason) == ("completed", "proposed")
    assert first_lines(story.comments(get_pull_request(asked))) == snapshot([])


async def test_what_was_rejected_is_asked_again(story: Story, model: ScriptedModel) -> None:
    asked = await start_issue(story, model, Says("Hm."), Says("Hm."), Says("Hm."), patches(DIFF, TEST), DONE)
    await asked.comment(asked.alice, "/forge run")
    await asked.comment(asked.alice, "/forge reject help_needed Not now")
    assert "is stuck on this issue" in asked.status
    await asked.comment(asked.alice, "/forge resume")
    assert story.gates(asked.issue) == [HELP]
    await asked.comment(asked.alice, "/forge approve")
    assert not get_pull_request(asked).draft
    assert first_lines(story.comments(get_pull_request(asked))) == snapshot([])


async def test_the_failed_phase_is_done_anew(story: Story, model: ScriptedModel) -> None:
    """Another run, with the plan of the one that failed."""
    asked = await start_issue(story, model, Says("Hm."), Says("Hm."), Says("Hm."), patches(DIFF, TEST), DONE)
    await asked.comment(asked.alice, "/forge run")
    await asked.comment(asked.alice, "/forge reject help_needed Not now")
    assert "Forge opened a pull request for this issue" in await asked.comment(asked.alice, "/forge retry")
    assert count_plans(model) == 1
    assert not get_pull_request(asked).draft
    assert sorted(each.state for each in await story.runs() if each.trigger == "issue") == [
        "completed",
        "failed",
    ]
    assert first_lines(story.comments(get_pull_request(asked))) == snapshot([])


async def test_there_is_nothing_to_take_up(story: Story, model: ScriptedModel) -> None:
    asked = await start_issue(story, model, patches(DIFF, TEST), DONE)
    assert "no run of this issue ended before it was through" in await asked.comment(asked.alice, "/forge resume")
    await asked.comment(asked.alice, "/forge run")
    assert "no run of this issue ended before it was through" in await asked.comment(asked.alice, "/forge retry")
    mallory = story.github.user("mallory")
    assert "needs the role" in await asked.comment(mallory, "/forge resume")
    assert first_lines(story.comments(get_pull_request(asked))) == snapshot([])


async def test_a_waiting_run_needs_no_help_to_go_on(story: Story, model: ScriptedModel) -> None:
    asked = await start_issue(story, model, Says("Hm."))
    await asked.comment(asked.alice, "/forge run")
    assert "its run goes on" in await asked.comment(asked.alice, "/forge resume")
    assert story.gates(asked.issue) == [HELP]
