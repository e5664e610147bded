"""An agent that makes a failing test go is told the test and its output, and its work is taken once it mended the code."""

from pydantic import JsonValue

from agents.llm.scripted import ScriptedModel, Uses
from tests.stories.driver import Story
from tests.world.cart import DIFF
from tests.world.issues import DONE, TASK, get_pull_request, open_issue, patches, plan
from tests.world.verification import get_outcome

NAME = "tests/test_cart.py::test_total"
BROKEN = DIFF.replace("(1 - discount)", "(2 - discount)")
GONE = """\
--- a/tests/test_cart.py
+++ b/tests/test_cart.py
@@ -1,5 +1,5 @@
 from shop.cart import total


-def test_total():
-    assert total([1, 2]) == 3
+def test_nothing():
+    assert total([]) == 0
"""
MENDS: tuple[Uses | dict[str, JsonValue], ...] = (
    Uses([("edit", {"path": "shop/cart.py", "old": "(2 - discount)", "new": "(1 - discount)"})]),
    {**DONE, "summary": "The discount is taken off, not added."},
)


async def test_the_failing_test_is_named_and_the_code_is_mended(story: Story, model: ScriptedModel) -> None:
    """The same removal is taken as soon as the test that is gone would pass."""
    asked = await open_issue(story)
    model.when("Title: Discounts", plan())
    model.when(TASK, patches(BROKEN, GONE), {**DONE, "summary": "One test was wrong."})
    model.when("recovery: attempt 1, strategy cause", *MENDS)
    await asked.comment(asked.alice, "/forge run")
    assert await get_outcome(story) == ("completed", "proposed")
    told = next(call.content for call in model.calls if "recovery: attempt 1, strategy cause" in call.content)
    assert f"> The test `{NAME}` passed before this change and fails on its code" in told
    assert "  It demanded:\n> assert total([1, 2]) == 3" in told
    assert "  It printed, at its end:" in told
    assert "assert 6 == 3" in told
    pull = get_pull_request(asked)
    story.pass_over(pull)
    assert b"(1 - discount)" in (asked.repository.git.read(pull.head_sha, "shop/cart.py") or b"")


async def test_words_at_the_gate_let_a_test_go(story: Story, model: ScriptedModel) -> None:
    """What people asked for excuses nothing by itself; what they answer does, of the test that they name."""
    asked = await open_issue(story, "Customers want a discount. Remove test_total on the way.")
    model.when("Title: Discounts", plan())
    model.when(TASK, patches(BROKEN, GONE), {**DONE, "summary": "One test was wrong."})
    for shown in ("attempt 1, strategy cause", "strategy guided"):
        model.when(shown, {**DONE, "summary": "It stays gone."})
    await asked.comment(asked.alice, "/forge run")
    assert story.gates(asked.issue) == ["recovery"]
    assert f"The test `{NAME}` passed before" in story.questions(asked.issue)[-1].body
    assert not asked.repository.git.refs("refs/heads/forge/")
    await asked.comment(asked.alice, "/forge approve recovery with: test_total may go")
    assert await get_outcome(story) == ("completed", "proposed")
    pull = get_pull_request(asked)
    check = story.check(asked.repository, pull.head_sha)
    assert check.conclusion == "success"
    assert f"**The change removes `{NAME}` (" in (check.summary or "")
    story.pass_over(pull)
