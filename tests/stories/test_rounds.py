"""Rounds that learn: each attempt is told of those before it, and none is begun that could only fail again."""

from pydantic import JsonValue

from agents.llm.scripted import ScriptedModel
from tests.stories.driver import Story
from tests.world.cart import DIFF
from tests.world.issues import last_instructions, patches
from tests.world.verification import FAILED, MEND, MENDED, WRONG, change, get_outcome, propose_diffs

RIGHT = {"summary": "It is right as it is.", "is_done": True}
NEEDS = """\
--- /dev/null
+++ b/tests/test_rates.py
@@ -0,0 +1,5 @@
+import nowhere
+
+
+def test_rates():
+    assert nowhere.rates()
"""


async def test_each_attempt_is_told_what_those_before_it_tried(story: Story, model: ScriptedModel) -> None:
    first, second = {**MENDED, "summary": "It is discnt."}, {**MENDED, "summary": "It is dscount."}
    model.when(
        MEND,
        *(patches(change("discont", "discnt")), first),
        *(patches(change("discnt", "dscount")), second),
        *(patches(change("dscount", "discount")), MENDED),
    )
    await propose_diffs(story, model, WRONG)
    assert await get_outcome(story) == ("completed", "proposed")
    [asked_first, *_] = [call.content for call in model.calls if MEND in call.content]
    assert "== tried before" not in asked_first
    told = last_instructions(model).partition("== tried before")[2]
    assert told.index("Attempt 1 was to fix:") < told.index("Undefined name `discont`") < told.index("> It is discnt.")
    assert told.index("> It is discnt.") < told.index("Attempt 2 was to fix:") < told.index("> It is dscount.")


async def test_what_could_only_fail_again_needs_a_word(story: Story, model: ScriptedModel) -> None:
    """The last attempt changed nothing: a bare approval would begin the same one, so no button gives it."""
    model.when(MEND, RIGHT)
    asked, pull = await propose_diffs(story, model, WRONG)
    [check] = story.github.check_runs(asked.repository, pull.head_sha, "Forge / gate: help_needed")
    assert [action["label"] for action in check.actions] == ["Reject", "View"]
    question = story.questions(asked.issue)[-1].body
    assert "the same attempt would fail again. What shall it do otherwise?" in question
    assert "ruff/F821" in question
    assert "| `/forge approve help_needed` |" not in question
    calls = len(model.calls)
    answer = await asked.comment(asked.alice, "/forge approve help_needed")
    assert "was not decided: without a word of yours the same attempt would fail again" in answer
    assert story.gates(asked.issue) == ["help_needed"]
    assert len(model.calls) == calls

    model.when(MEND, patches(change("discont", "discount")), MENDED)
    await asked.comment(asked.alice, "/forge approve help_needed with: it is spelled like the argument")
    assert await get_outcome(story) == ("completed", "proposed")
    assert "> It is right as it is." in last_instructions(model)


async def test_what_the_place_lacks_is_asked_once_and_not_sent_to_the_implementer(
    story: Story, model: ScriptedModel
) -> None:
    said: dict[str, JsonValue] = {
        "test": 1,
        "failure_class": "environment",
        "root_cause": "The module nowhere is not installed.",
        "suggested_fix": "Install it in commands.setup.",
        "confidence": 0.9,
    }
    model.when(FAILED, {"failures": [said]})
    asked, pull = await propose_diffs(story, model, DIFF, NEEDS)
    assert story.gates(asked.issue) == ["help_needed"]
    question = story.questions(asked.issue)[-1].body
    assert "the tests seem to fail for what the place where they run lacks" in question
    assert "Install it in commands.setup." in question
    assert not [call for call in model.calls if MEND in call.content]
    answer = await asked.comment(asked.alice, "/forge approve")
    assert "was not decided" in answer
    await asked.comment(asked.alice, "/forge reject help_needed I install it first")
    assert await get_outcome(story) == ("failed", "stuck")
    assert pull.draft
