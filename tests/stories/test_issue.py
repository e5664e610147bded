"""From an issue to a pull request, as people see it."""

import pytest
from inline_snapshot import snapshot
from pydantic import JsonValue

from agents.llm.scripted import Says, ScriptedModel, Uses
from domain.events import EventType
from memory import ledger
from tests.stories.driver import Story
from tests.world.cart import DIFF
from tests.world.issues import DONE, MODES, TASK, TEST, get_pull_request, last_instructions, open_issue, patches, plan
from tests.world.replies import first_lines

UNDONE = {**DONE, "is_done": False, "not_done": "The receipt is printed elsewhere."}


@pytest.mark.parametrize("mode", MODES)
async def test_from_an_issue_to_a_pull_request(mode: str, story: Story, model: ScriptedModel) -> None:
    """It closes the issue, has a commit for the task, and is a draft until it was reviewed like any other."""
    asked = await open_issue(story, **MODES[mode])
    model.when("Title: Discounts", plan())
    model.when(TASK, patches(DIFF, TEST), DONE)
    await asked.comment(asked.alice, "/forge run")
    pull = get_pull_request(asked)
    assert (pull.head_ref, pull.draft) == ("forge/1-discounts", False)
    assert (pull.body or "").startswith("Closes #1\n")
    assert "- [x] **T1** Take a discount off the total" in (pull.body or "")
    git = asked.repository.git
    assert b"discount=0" in (git.read(pull.head_sha, "shop/cart.py") or b"")
    [commit] = git.commits_between(pull.base_sha, pull.head_sha)
    assert commit.message.startswith("Take a discount off the total\n")
    assert "Forge-Task: T1" in commit.message
    assert f"#{pull.number}" in asked.status
    assert story.check(asked.repository, pull.head_sha).conclusion == "success"
    reviewed, run = await story.runs()
    assert (run.trigger, run.state, run.reason) == ("issue", "completed", "proposed")
    assert (reviewed.number, reviewed.state) == (pull.number, "completed")
    assert first_lines(story.comments(pull)) == snapshot([])


async def test_a_label_asks_for_it_too(story: Story, model: ScriptedModel) -> None:
    asked = await open_issue(story)
    model.when("Title: Discounts", plan())
    model.when(TASK, patches(DIFF), DONE)
    await story.after(asked.alice.label(asked.issue, "bug"))
    assert not await story.runs()
    await story.after(asked.alice.label(asked.issue, "Forge"))
    assert first_lines(story.answers(asked.issue)) == snapshot(["**Forge opened a pull request for this issue**"])
    assert first_lines(story.comments(get_pull_request(asked))) == snapshot([])


async def test_a_label_of_who_may_not_write_asks_for_nothing(story: Story, model: ScriptedModel) -> None:
    asked = await open_issue(story)
    triager = story.member(asked.repository, "tom", "triage")
    await story.after(triager.label(asked.issue, "forge"))
    assert not await story.runs()
    assert not model.calls


@pytest.mark.parametrize("mode", MODES)
async def test_a_refused_patch_is_mended(mode: str, story: Story, model: ScriptedModel) -> None:
    """What does not fit, or lies where nothing may change, is refused as a whole, and the agent is told why."""
    asked = await open_issue(story, **MODES[mode])
    workflow = "--- /dev/null\n+++ b/.github/workflows/x.yml\nnew file mode 100644\n@@ -0,0 +1,1 @@\n+on: push\n"
    outside = "--- a/README.md\n+++ b/README.md\n@@ -1,1 +1,1 @@\n-# Shop\n+# Other\n"
    stale = DIFF.replace("return sum(prices)\n+", "return add(prices)\n+")
    model.when("Title: Discounts", plan())
    model.when(TASK, patches(workflow), patches(outside), patches(stale), patches(DIFF), DONE)
    await asked.comment(asked.alice, "/forge run")
    told = last_instructions(model)
    assert "The plan allows changes in shop/**, tests/** only." in told
    assert "its old lines are not in the file" in told
    pull = get_pull_request(asked)
    assert [each.path for each in asked.repository.git.diff(pull.base_sha, pull.head_sha)] == ["shop/cart.py"]
    assert first_lines(story.comments(pull)) == snapshot([])


async def test_an_implementer_runs_the_tests_on_what_it_has(story: Story, model: ScriptedModel) -> None:
    """It sees that a test fails, mends it, sees that all pass, and nothing is sent back afterwards.

    What it did is not done again when the run goes on behind the review.
    """
    asked = await open_issue(story)
    wrong = DIFF.replace("(1 - discount)", "(2 - discount)")
    mended = (
        "--- a/shop/cart.py\n+++ b/shop/cart.py\n@@ -1,2 +1,2 @@\n def total(prices, discount=0):\n"
        "-    return sum(prices) * (2 - discount)\n+    return sum(prices) * (1 - discount)\n"
    )
    model.when("Title: Discounts", plan())
    look = ["run_tests"]
    model.when(TASK, patches(wrong, TEST, then=look), patches(mended, then=look), patches(then=look), DONE)
    await asked.comment(asked.alice, "/forge run")
    told = next(call.content for call in reversed(model.calls) if TASK in call.content)
    failed, passed, same = told.index("This failed:"), told.index("Everything passed."), told.index("Nothing changed")
    assert failed < told.index("tests/test_cart.py::test_discount") < passed < same
    pull = get_pull_request(asked)
    [commit] = asked.repository.git.commits_between(pull.base_sha, pull.head_sha)
    assert commit.message.startswith("Take a discount off the total")
    assert not pull.draft
    [run] = [each for each in await story.runs() if each.trigger == "issue"]
    events = await ledger.load_events(story.forge.services.database, run.id)
    used = [each.source for each in events if each.type is EventType.tool_executed]
    assert used.count("run_tests") == 3
    assert first_lines(story.comments(pull)) == snapshot([])


async def test_an_implementer_edits_passages_asks_the_history_and_runs_one_test(
    story: Story, model: ScriptedModel
) -> None:
    asked = await open_issue(story)
    cart = "shop/cart.py"
    asks = Uses([("git_log", {"path": cart}), ("git_blame", {"path": cart, "first_line": 1})])
    wrong: dict[str, JsonValue] = {"path": cart, "old": "def total(prices):\n    return sum(price)\n", "new": "x"}
    right: dict[str, JsonValue] = {
        "path": cart,
        "old": "def total(prices):\n    return sum(prices)\n",
        "new": "def total(prices, discount=0):\n    return sum(prices) * (1 - discount)\n",
    }
    tests: dict[str, JsonValue] = {
        "path": "tests/test_discount.py",
        "content": "from shop.cart import total\n\n\ndef test_half():\n    assert total([10], discount=0.5) == 5\n",
    }
    one: tuple[str, dict[str, JsonValue]] = ("run_tests", {"tests": ["tests/test_discount.py::test_half"]})
    model.when("Title: Discounts", plan())
    model.when(
        TASK,
        asks,
        Uses([("edit", wrong), one]),
        Uses([("edit", right), ("write_file", tests), one]),
        {**DONE, "tests_added": [tests["path"]]},
    )
    await asked.comment(asked.alice, "/forge run")
    told = next(call.content for call in reversed(model.calls) if TASK in call.content)
    assert f"1-2\t{get_pull_request(asked).base_sha[:12]} " in told
    assert "The passage is not in the file." in told
    assert "run_tests was not called, because an edit before it in the same message was refused." in told
    assert "Everything passed.\nTests: 1 passed.\nOnly the tests that were named" in told
    pull = get_pull_request(asked)
    changed = {each.path for each in asked.repository.git.diff(pull.base_sha, pull.head_sha)}
    assert changed == {cart, "tests/test_discount.py"}
    assert not pull.draft


async def test_what_is_granted_to_one_task_is_granted_to_no_other(story: Story, model: ScriptedModel) -> None:
    """The planner gets five turns more than its two; the implementer still has two."""
    asked = await open_issue(story, **{".github/forge.yml": "guards: {max_iterations: 2}\n"})
    looks = [Uses([("grep", {"pattern": word})]) for word in ("total", "prices", "sum", "Shop")]
    model.when("Title: Discounts", *looks[:3], plan())
    model.when(TASK, *looks[:3], patches(DIFF), DONE)
    await asked.comment(asked.alice, "/forge run")
    await asked.comment(asked.alice, "/forge continue 5it")
    assert len([call for call in model.calls if TASK in call.content]) == 2
    assert story.gates(asked.issue) == ["guard"]
    await asked.comment(asked.alice, "/forge continue 5it")
    assert not story.gates(asked.issue)
    assert first_lines(story.comments(get_pull_request(asked))) == snapshot([])


async def test_an_implementer_sees_what_the_review_would_find(story: Story, model: ScriptedModel) -> None:
    """It mends that before it hands in, so that nothing is sent back."""
    show = "\n\ndef show(name):\n    os.system('ls ' + name)\n"
    body = f"import os\n\n\ndef total(prices, discount=0):\n    return sum(prices) * (1 - discont)\n{show}"
    mends = [("discont", "discount"), (show, ""), ("import os\n\n\n", "")]
    asked = await open_issue(story)
    model.when("Title: Discounts", plan())
    model.when(
        TASK,
        Uses(
            [("write_file", {"path": "shop/cart.py", "content": body}), ("run_linter", {}), ("run_security_scan", {})]
        ),
        Uses([("edit", {"path": "shop/cart.py", "old": old, "new": new}) for old, new in mends]),
        patches(TEST, then=["run_linter", "run_security_scan"]),
        DONE,
    )
    await asked.comment(asked.alice, "/forge run")
    told = [call.content for call in model.calls if TASK in call.content]
    assert "1 found:\n- shop/cart.py:5 ruff/F821 (error): Undefined name `discont`" in told[1]
    assert "- shop/cart.py:9 ruff/S" in told[1]
    assert told[3].count("Nothing was found.") == 2
    run = next(each for each in await story.runs() if each.trigger == "issue")
    assert (run.state, run.reason) == ("completed", "proposed")
    assert "fix" not in asked.status.partition("Implementation:")[2].partition("\n")[0]
    assert first_lines(story.comments(get_pull_request(asked))) == snapshot([])


@pytest.mark.parametrize("mode", MODES)
async def test_what_an_agent_leaves_undone_is_asked(mode: str, story: Story, model: ScriptedModel) -> None:
    """It tries again with a person's words only, and is told what was missing."""
    asked = await open_issue(story, **MODES[mode])
    model.when("Title: Discounts", plan())
    model.when(TASK, patches(DIFF), UNDONE, patches(DIFF, TEST), DONE)
    said = await asked.comment(asked.alice, "/forge run")
    assert "The agent left a part of a task undone. What shall it do otherwise?" in said
    assert "T1 Take a discount off the total: The receipt is printed elsewhere" in said
    assert "| `/forge approve help_needed` |" not in said
    calls = len(model.calls)
    assert "was not decided" in await asked.comment(asked.alice, "/forge approve help_needed")
    assert len(model.calls) == calls
    await asked.comment(asked.alice, "/forge approve help_needed with: leave the receipt, it is printed elsewhere")
    assert "It left this undone, and nothing of it was kept: The receipt is printed elsewhere." in last_instructions(
        model
    )
    assert "leave the receipt" in last_instructions(model)
    pull = get_pull_request(asked)
    assert "- [x] **T1**" in (pull.body or "")
    assert not pull.draft


async def test_what_was_not_done_is_said(story: Story, model: ScriptedModel) -> None:
    asked = await open_issue(story)
    model.when("Title: Discounts", plan())
    model.when(TASK, patches(DIFF), UNDONE)
    await asked.comment(asked.alice, "/forge run")
    await asked.comment(asked.alice, "/forge reject help_needed we do that by hand")
    pull = get_pull_request(asked)
    assert "- [ ] **T1**" in (pull.body or "")
    assert "Not done: The receipt is printed elsewhere." in (pull.body or "")
    assert first_lines(story.comments(pull)) == snapshot([])


@pytest.mark.parametrize("mode", MODES)
async def test_an_implementer_that_gets_stuck_leaves_what_it_has(mode: str, story: Story, model: ScriptedModel) -> None:
    """Unless somebody helps, the task that was finished before is proposed; the other one is said to be missing."""
    asked = await open_issue(story, **MODES[mode])
    model.when("Title: Discounts", plan(then="Print it"))
    model.when("== your task: T2", Says("Hm."))
    model.when(TASK, patches(DIFF), DONE)
    await asked.comment(asked.alice, "/forge run")
    assert story.gates(asked.issue) == ["help_needed"]
    stuck = "said something 3 times in a row without doing anything"
    assert stuck in story.questions(asked.issue)[-1].body
    await asked.comment(asked.alice, "/forge reject help_needed Leave it")
    pull = get_pull_request(asked)
    assert pull.draft
    assert "- [ ] **T2** Print it" in (pull.body or "")
    assert "is stuck on this issue" in asked.status
    assert f"#{pull.number}" in asked.status
    run = next(each for each in await story.runs() if each.trigger == "issue")
    assert (run.state, run.reason) == ("failed", "stuck")
    assert first_lines(story.comments(pull)) == snapshot([])


async def test_somebody_has_the_branch(story: Story, model: ScriptedModel) -> None:
    """It stays as it is; Forge takes another name."""
    asked = await open_issue(story)
    theirs = await asked.alice.push(asked.repository, "forge/1-discounts", {"README.md": "# Mine\n"}, base="main")
    model.when("Title: Discounts", plan())
    model.when(TASK, patches(DIFF), DONE)
    await asked.comment(asked.alice, "/forge run")
    assert asked.repository.git.branch("forge/1-discounts") == theirs
    assert get_pull_request(asked).head_ref == "forge/1-discounts-2"
    assert first_lines(story.comments(get_pull_request(asked))) == snapshot([])
