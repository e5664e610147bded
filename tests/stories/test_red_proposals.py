"""Red checks of other Apps on pull requests that Forge opened itself: it mends them unasked, within its rounds."""

from inline_snapshot import snapshot

from agents.llm.scripted import ScriptedModel
from simulator.state import Json
from tests.stories.driver import Story
from tests.world.cart import DIFF
from tests.world.issues import last_instructions, patches
from tests.world.replies import bodies
from tests.world.verification import MEND, MENDED, change, get_outcome, propose_diffs

NO_TYPE = {"path": "shop/cart.py", "start_line": 1, "end_line": 1, "annotation_level": "failure", "message": "no type"}
OUTPUT: Json = {"title": "1 problem", "summary": "See below.", "annotations": [NO_TYPE]}
LOG = "collecting\nE   assert 200 == 180\n##[error]Process completed with exit code 1.\n"


async def test_what_turns_red_after_the_end_is_mended_and_left_after_two_rounds(
    story: Story, model: ScriptedModel
) -> None:
    asked, pull = await propose_diffs(story, model, DIFF)
    repository, github = asked.repository, story.github
    assert (await get_outcome(story), pull.draft) == (("completed", "proposed"), False)
    first = pull.head_sha
    github.report_check(repository, repository.git.branch("main") or "", "nightly", "failure", "others-ci")
    github.report_check(repository, first, "nightly", "failure", "others-ci")
    waited = github.run_workflow(repository, first, "CI", {"build": (None, "")})
    github.report_check(repository, first, "types", "failure", "types-app", OUTPUT)
    await story.settle()
    assert not [call for call in model.calls if MEND in call.content]  # until all have ended

    model.when(MEND, patches(change("discount", "float(discount)")), MENDED)
    github.advance_workflow(waited, {"build": ("success", "")})
    await story.settle()
    told = last_instructions(model).partition("== to fix")[2]
    assert told.startswith("\n- check types\n> shop/cart.py:1: no type\n")
    assert "nightly" not in told
    second = pull.head_sha
    assert second != first
    assert repository.git.commit(second).message.startswith("Fix red checks\n\n- check types\n")
    assert await get_outcome(story) == ("completed", "proposed")

    ran = github.run_workflow(repository, second, "CI", {"test": ("failure", LOG)})
    await story.settle()
    assert (ran.run_attempt, pull.head_sha) == (2, second)  # it may have been chance
    model.when(MEND, patches(change("float(discount)", "discount")), MENDED)
    github.advance_workflow(ran, {"test": ("failure", LOG)})
    await story.settle()
    assert "- check test\n> E   assert 200 == 180\n" in last_instructions(model)
    third = pull.head_sha
    assert third != second

    github.report_status(repository, third, "types", "failure")
    await story.settle()
    assert pull.head_sha == third
    assert await get_outcome(story) == ("completed", "proposed")
    assert bodies(story.answers(pull))[-1] == snapshot(
        "Still red: `types`. Forge tried twice and stops here. `/forge mend` begins anew."
    )


async def test_what_passes_when_it_runs_again_is_left_alone(story: Story, model: ScriptedModel) -> None:
    asked, pull = await propose_diffs(story, model, DIFF)
    head = pull.head_sha
    ran = story.github.run_workflow(asked.repository, head, "CI", {"test": ("failure", "Connection reset\n")})
    await story.settle()
    assert ran.run_attempt == 2
    story.github.advance_workflow(ran, {"test": ("success", "")})
    await story.settle()
    assert (pull.head_sha, pull.draft) == (head, False)
    assert await get_outcome(story) == ("completed", "proposed")
    assert not [call for call in model.calls if MEND in call.content]

    theirs = await asked.alice.push(asked.repository, pull.head_ref, {"NOTES.md": "Mine.\n"})
    story.github.report_check(asked.repository, theirs, "types", "failure", "types-app", OUTPUT)
    await story.settle()
    assert await get_outcome(story) == ("completed", "proposed")
    assert not [call for call in model.calls if MEND in call.content]
