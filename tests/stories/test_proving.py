"""What becomes of a proposed change: it is reviewed, sent back, mended, and ready for people once nothing is wrong."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from agents.llm.models import Models
from agents.llm.scripted import ScriptedModel, Uses
from pipeline.context import PROGRESS_DELAY
from simulator.errors import Moment, RequestInfo
from simulator.state import CheckRun
from tests.databases import create_database
from tests.stories.driver import LAG, PATIENCE, PATIENT, Story, open_story
from tests.world.automation import jump_ahead
from tests.world.cart import DIFF
from tests.world.issues import (
    DONE,
    MODES,
    PROJECT,
    SHOP,
    TASK,
    TEST,
    IssueScene,
    get_pull_request,
    last_instructions,
    open_issue,
    patches,
    plan,
)
from tests.world.replies import first_lines
from tests.world.verification import (
    ACTIONS,
    ASKS,
    FAILED,
    MEND,
    MENDED,
    OFF,
    WRONG,
    build_judgement,
    change,
    events,
    get_outcome,
    propose_diffs,
)

UNSURE = DIFF.replace("+1,2 @@", "+1,6 @@") + "+\n+\n+def receipt():\n+    return _translated('Sum')\n"


async def test_a_review_that_is_soon_over_is_waited_for_without_a_word(tmp_path: Path, model: ScriptedModel) -> None:
    """Nobody is told of what lasts a moment, and the run keeps its place meanwhile."""
    patient = replace(PATIENT, telling=PATIENCE)
    async with open_story(
        create_database("sqlite", tmp_path), tmp_path, patient, Models.only(model.language_model)
    ) as story:
        _, pull = await propose_diffs(story, model, DIFF, TEST)
        assert not pull.draft
        assert await get_outcome(story) == ("completed", "proposed")
        assert await events(story, "run.waiting") == []
        sent = [each for each in story.github.requests if each.write and each.applied and "check-runs" in each.path]
        assert [(each.method, each.body["name"], each.body["status"]) for each in sent] == [
            ("POST", "Forge / review", "completed"),
            ("POST", "Forge / test", "completed"),
        ]


async def test_closed_while_its_review_is_waited_for(tmp_path: Path, model: ScriptedModel) -> None:
    patient = replace(PATIENT, telling=PROGRESS_DELAY)
    async with open_story(
        create_database("sqlite", tmp_path), tmp_path, patient, Models.only(model.language_model)
    ) as story:
        alice = story.github.user("alice")

        async def close(request: RequestInfo, moment: Moment) -> None:
            if request.method == "POST" and request.path.endswith("/pulls") and moment == "after":
                [pull] = next(iter(story.github.world.repositories.values())).pulls()
                await alice.close(pull)

        story.github.on_write(close)
        asked, pull = await propose_diffs(story, model, DIFF, TEST)
        assert pull.draft
        assert await get_outcome(story) == ("cancelled", "closed")
        assert story.answers(asked.issue)[0].body.startswith("**A person closed #2**")


@pytest.mark.skipif(bool(LAG), reason="it counts attempts, and what lags is looked at in between")
async def test_a_review_that_could_not_say_anything_has_a_check_in_the_end(story: Story, model: ScriptedModel) -> None:
    """Else whoever requires that check would wait for it for ever."""
    story.github.faults.add(kind="before", method="POST", path="/check-runs$", times=7)
    _, pull = await propose_diffs(story, model, DIFF, TEST)
    assert pull.draft
    check = story.check(pull.repository, pull.head_sha)
    assert (check.status, check.conclusion) == ("completed", "action_required")


@pytest.mark.parametrize("mode", MODES)
async def test_what_the_review_finds_is_mended(mode: str, story: Story, model: ScriptedModel) -> None:
    model.when(MEND, patches(change("discont", "discount")), MENDED)
    asked, pull = await propose_diffs(story, model, WRONG, **MODES[mode])
    told = next(call.content for call in model.calls if MEND in call.content)
    assert "- shop/cart.py:2 ruff/F821" in told
    first, second = asked.repository.git.commits_between(pull.base_sha, pull.head_sha)
    assert first.message.startswith("Take a discount")
    assert second.message.startswith("Fix what the review found\n\n- shop/cart.py ruff/F821\n")
    assert story.check(asked.repository, first.sha).conclusion == "failure"
    assert story.check(asked.repository, second.sha).conclusion == "success"
    assert not pull.draft
    assert "- [x] Implementation: done, 1 of 1 task, 1 fix" in asked.status
    assert await get_outcome(story) == ("completed", "proposed")
    assert [each["count"] for each in await events(story, "loop.phase_bounce")] == [1]


async def test_the_same_finding_is_mended_anew(story: Story, model: ScriptedModel) -> None:
    """The second time the words are those of the first; the files are not, and so the model is asked again."""
    beside = "--- /dev/null\n+++ b/shop/rates.py\n@@ -0,0 +1,1 @@\n+TAX = 1\n"
    model.when(MEND, patches(beside), MENDED, patches(change("discont", "discount")), MENDED)
    _, pull = await propose_diffs(story, model, WRONG)
    assert [each["count"] for each in await events(story, "loop.phase_bounce")] == [1, 2]
    assert not pull.draft
    assert await get_outcome(story) == ("completed", "proposed")


async def test_after_three_times_a_person_is_asked(story: Story, model: ScriptedModel) -> None:
    """And may have it tried once more, with a word of advice."""
    names = ["discont", "discnt", "dscount", "discoun"]
    attempts = [reply for pair in pairwise(names) for reply in (patches(change(*pair)), MENDED)]
    model.when(MEND, *attempts, patches(change("discoun", "discount")), MENDED)
    asked, pull = await propose_diffs(story, model, WRONG)
    assert story.gates(asked.issue) == ["help_needed"]
    assert "the review sent the change back 3 times" in story.questions(asked.issue)[-1].body
    assert await get_outcome(story) == ("waiting", "gate")
    assert pull.draft
    await asked.comment(asked.alice, "/forge approve with: it is spelled like the argument")
    assert "it is spelled like the argument" in last_instructions(model)
    assert await get_outcome(story) == ("completed", "proposed")
    assert not pull.draft
    assert [each["count"] for each in await events(story, "loop.phase_bounce")] == [1, 2, 3, 4]
    assert first_lines(story.comments(pull)) == snapshot(
        [
            "**No longer applies** (`SHA`).",
            "**No longer applies** (`SHA`).",
            "**No longer applies** (`SHA`).",
            "**No longer applies** (`SHA`).",
        ]
    )


async def test_a_person_who_pushes_has_the_branch(story: Story, model: ScriptedModel) -> None:
    asked, pull = await propose_diffs(story, model, DIFF, **ASKS)
    assert await get_outcome(story) == ("waiting", "in_review")
    assert f"the review of #{pull.number} has a question" in asked.status
    assert first_lines(story.questions(pull)) == snapshot(["**Forge asks: design** · G-ID · head `SHA`"])
    await story.after(
        asked.alice.push(
            asked.repository, pull.head_ref, {"shop/cart.py": "def total(prices):\n    return sum(prices)\n"}
        )
    )
    assert "Forge will not push to it any more" in asked.status
    assert await get_outcome(story) == ("completed", "branch_moved")
    assert first_lines(story.comments(pull)) == snapshot([])
    assert first_lines(story.questions(pull)) == snapshot(
        ["**design: Void: there is nothing left to decide** · G-ID · head `SHA` · a newer…"]
    )


async def test_a_dismissed_finding_needs_no_mending(story: Story, model: ScriptedModel) -> None:
    """A person says that the finding is wrong while it is asked whether to try again."""
    model.when(MEND, {"summary": "It is right as it is.", "is_done": True})
    asked, pull = await propose_diffs(story, model, UNSURE)
    assert story.gates(asked.issue) == ["help_needed"]
    [finding] = story.comments(pull)
    await story.after(asked.alice.reply(finding, "/forge dismiss It is a global of ours."))
    assert not pull.draft
    assert await get_outcome(story) == ("completed", "proposed")
    assert first_lines(story.questions(asked.issue)) == snapshot(
        ["**help_needed: Void: there is nothing left to decide** · G-ID · head `SHA` · it…"]
    )
    assert first_lines(story.answers(asked.issue)) == snapshot(["**Forge opened a pull request for this issue**"])
    assert first_lines(story.comments(pull)) == snapshot(["🔴 **Error** · correctness"])


# --- tests -------------------------------------------------------------------------------------------------

BRANCH = """\
--- a/shop/cart.py
+++ b/shop/cart.py
@@ -1,2 +1,4 @@
-def total(prices):
-    return sum(prices)
+def total(prices, discount=0):
+    if discount > 1:
+        return 0
+    return sum(prices) * (1 - discount)
"""


def get_check(story: Story, asked: IssueScene, sha: str) -> CheckRun:
    """The check of the tests on a head."""
    [check] = story.github.check_runs(asked.repository, sha, "Forge / test")
    return check


@pytest.mark.parametrize("mode", MODES)
async def test_what_the_tests_find_is_mended(mode: str, story: Story, model: ScriptedModel) -> None:
    """The review finds nothing; a test the implementer wrote fails, a model says why, and the implementer mends it."""
    model.when(FAILED, build_judgement(0.9))
    model.when(MEND, patches(change("x", "discount").replace("1 - x", "1 + discount")), MENDED)
    asked, pull = await propose_diffs(story, model, OFF, TEST, **MODES[mode])
    told = next(call.content for call in model.calls if MEND in call.content)
    assert "- tests/test_cart.py:" in told
    assert "Root cause: The discount is added." in told
    first, second = asked.repository.git.commits_between(pull.base_sha, pull.head_sha)
    assert second.message.startswith("Fix failing tests\n")
    failed, passed = get_check(story, asked, first.sha), get_check(story, asked, second.sha)
    assert (failed.conclusion, failed.title) == ("failure", "1 test failed")
    assert "assert 15.0 == 5" in (failed.summary or "")
    assert (passed.conclusion, passed.title) == ("success", "Passed: 2 tests")
    assert not pull.draft
    assert "- Tests: Passed: 2 tests\n- The review found nothing that is still open.\n- The change needed" in (
        pull.body or ""
    )
    assert await get_outcome(story) == ("completed", "proposed")


async def test_the_turns_of_one_task_do_not_count_against_another(story: Story, model: ScriptedModel) -> None:
    """A run has more turns than a guard grants a task; the analysis of its failures is a task of its own."""
    words = ["total", "prices", "sum", "return", "import", "assert", "Shop", "pytest"]
    model.when(TASK, *(Uses([("grep", {"pattern": word})]) for word in words), patches(OFF, TEST), DONE)
    model.when("Title: Discounts", *(Uses([("grep", {"pattern": word})]) for word in words), plan())
    model.when(FAILED, build_judgement(0.9))
    model.when(MEND, patches(change("x", "discount").replace("1 - x", "1 + discount")), MENDED)
    asked = await open_issue(story)
    await asked.comment(asked.alice, "/forge run")
    assert not story.gates(asked.issue)
    assert await get_outcome(story) == ("completed", "proposed")
    assert len(model.calls) > 20
    assert first_lines(story.comments(get_pull_request(asked))) == snapshot([])


@pytest.mark.parametrize("mode", MODES)
async def test_what_nobody_knows_how_to_mend_is_asked(mode: str, story: Story, model: ScriptedModel) -> None:
    model.when(FAILED, build_judgement(0.6))
    asked, pull = await propose_diffs(story, model, OFF, TEST, **MODES[mode])
    assert story.gates(asked.issue) == ["help_needed"]
    assert "the tests fail, and nobody is sure enough how to mend that" in story.questions(asked.issue)[-1].body
    assert pull.draft
    model.when(MEND, patches(change("x", "discount").replace("1 - x", "1 + discount")), MENDED)
    await asked.comment(asked.alice, "/forge approve with: a discount makes it cheaper")
    assert await get_outcome(story) == ("completed", "proposed")
    assert not pull.draft


async def test_tests_that_are_missing_are_written(story: Story, model: ScriptedModel) -> None:
    """Added lines that no test runs are sent back once."""
    measured = {"pyproject.toml": f'{PROJECT}\n[dependency-groups]\ntest = ["pytest", "coverage"]\n'}
    test = TEST.replace("+3,7 @@", "+3,8 @@").replace("== 5", "== 5\n+    assert total([10], discount=2) == 0")
    model.when(MEND, patches(test), MENDED)
    asked, pull = await propose_diffs(story, model, BRANCH, **measured)
    told = next(call.content for call in model.calls if MEND in call.content)
    assert "No test runs these added lines" in told
    first, second = asked.repository.git.commits_between(pull.base_sha, pull.head_sha)
    assert [each.path for each in asked.repository.git.diff(first.sha, second.sha)] == ["tests/test_cart.py"]
    assert not pull.draft
    assert "Lines this change adds" in (get_check(story, asked, second.sha).summary or "")


async def test_a_repository_without_tests_gets_some(story: Story, model: ScriptedModel) -> None:
    added = "from shop.cart import total\n\n\ndef test_discount():\n    assert total([10], 0.5) == 5\n"
    lines = "".join(f"+{line}\n" for line in added.splitlines())
    header = "diff --git a/tests/test_total.py b/tests/test_total.py\nnew file mode 100644\n--- /dev/null\n"
    test = f"{header}+++ b/tests/test_total.py\n@@ -0,0 +1,5 @@\n{lines}"
    model.when(MEND, patches(test), MENDED)
    asked, pull = await propose_diffs(story, model, DIFF, **{"tests/test_cart.py": ""})
    told = next(call.content for call in model.calls if MEND in call.content)
    assert "No test covers this file, and the repository has none at all" in told
    first, second = asked.repository.git.commits_between(pull.base_sha, pull.head_sha)
    assert get_check(story, asked, first.sha).title == "No tests found"
    assert get_check(story, asked, second.sha).title == "Passed: 1 test"
    assert not pull.draft


@pytest.mark.usefixtures("model")
async def test_tests_on_a_pull_request_alone(story: Story) -> None:
    """``/forge test`` needs no issue: it tests the head, whoever wrote it."""
    repository, alice = story.repository(SHOP)
    pull, _ = await story.propose(
        repository, alice, {"shop/cart.py": "def total(prices):\n    return 0\n"}, "work", title="Simplify"
    )
    await story.after(alice.comment(pull, "/forge test"))
    assert "the check `Forge / test` shows the progress" in story.answers(pull)[-1].body
    [check] = story.github.check_runs(repository, pull.head_sha, "Forge / test")
    assert (check.conclusion, check.title) == ("failure", "1 test failed")
    assert "`tests/test_cart.py::test_total`" in (check.summary or "")
    await alice.push(repository, "work", {"shop/cart.py": "def total(prices):\n    return sum(prices, 0)\n"})
    await story.settle()
    await story.after(alice.comment(pull, "/forge test"))
    [check] = story.github.check_runs(repository, pull.head_sha, "Forge / test")
    assert (check.conclusion, check.title) == ("success", "Passed: 1 test")
    assert first_lines(story.answers(pull)) == snapshot(
        [
            "Testing `SHA`; the check `Forge / test` shows the progress.",
            "Testing `SHA`; the check `Forge / test` shows the progress.",
        ]
    )
    assert first_lines(story.comments(pull)) == snapshot([])


@pytest.mark.usefixtures("model")
async def test_a_flaky_test_is_no_failure(story: Story) -> None:
    """It fails beside others and passes when it is run once more by itself, in a fresh checkout of the same code."""
    flaky = "import sys\n\n\ndef test_sometimes():\n    assert sys.argv[-1].endswith('::test_sometimes')\n"
    repository, alice = story.repository({**SHOP, "tests/test_sometimes.py": flaky})
    pull, _ = await story.propose(
        repository, alice, {"pyproject.toml": f"{PROJECT}# changed\n"}, "work", title="Say more"
    )
    await story.after(alice.comment(pull, "/forge test"))
    [check] = story.github.check_runs(repository, pull.head_sha, "Forge / test")
    assert (check.conclusion, check.title) == ("success", "Passed: 2 tests, 1 of them flaky")
    assert "`tests/test_sometimes.py::test_sometimes`" in (check.summary or "")
    assert first_lines(story.answers(pull)) == snapshot(["Testing `SHA`; the check `Forge / test` shows the progress."])
    assert first_lines(story.comments(pull)) == snapshot([])


async def run_test_command(story: Story, files: dict[str, str], changed: Mapping[str, str | None]) -> CheckRun:
    """The check of ``/forge test`` on a pull request."""
    repository, alice = story.repository({**SHOP, **files})
    pull, _ = await story.propose(repository, alice, changed, "work", title="Say more")
    await story.after(alice.comment(pull, "/forge test"))
    assert first_lines(story.answers(pull)) == snapshot(["Testing `SHA`; the check `Forge / test` shows the progress."])
    assert first_lines(story.comments(pull)) == snapshot([])
    [check] = story.github.check_runs(repository, pull.head_sha, "Forge / test")
    return check


@pytest.mark.usefixtures("model")
async def test_what_only_leftovers_let_pass_is_a_failure(story: Story) -> None:
    """Code that works the second time only, by what it left the first time, fails in every fresh checkout."""
    cart = (
        "from pathlib import Path\n\n\ndef total(prices):\n    if not Path('cache').exists():\n"
        "        Path('cache').touch()\n        return 0\n    return sum(prices)\n"
    )
    check = await run_test_command(story, {}, {"shop/cart.py": cart})
    assert (check.conclusion, check.title) == ("failure", "1 test failed")


@pytest.mark.usefixtures("model")
async def test_a_test_that_is_deleted_is_said(story: Story) -> None:
    """Whatever else passes: nobody looks for a test that is not there."""
    other = {"tests/test_other.py": "from shop.cart import total\n\n\ndef test_empty():\n    assert total([]) == 0\n"}
    check = await run_test_command(
        story, other, {"shop/cart.py": "def total(prices):\n    return 0\n", "tests/test_cart.py": None}
    )
    assert "**The change removes `tests/test_cart.py::test_total` (" in (check.summary or "")
    [repository] = story.github.world.repositories.values()
    [pull] = repository.pulls()
    [question] = story.questions(pull)
    assert "The test `tests/test_cart.py::test_total` passed before this change and fails on its code" in question.body
    assert story.gates(pull) == ["destructive"]


KNOWN = {"tests/test_known.py": "from shop.cart import total\n\n\ndef test_known():\n    assert total([1]) == 2\n"}


@pytest.mark.usefixtures("model")
async def test_what_fails_beside_it_is(story: Story) -> None:
    """A new test in the same file, which is not there on the merge base."""
    [(path, known)] = KNOWN.items()
    check = await run_test_command(story, KNOWN, {path: f"{known}\n\ndef test_new():\n    assert total([1]) == 3\n"})
    assert (check.conclusion, check.title) == ("failure", "1 test failed")
    told, _, others = (check.summary or "").partition("### Also fails without this change")
    assert f"`{path}::test_new`" in told
    assert f"`{path}::test_known`" in others


@pytest.mark.usefixtures("model")
async def test_checks_whose_program_is_not_installed_are_left_out(story: Story) -> None:
    check = await run_test_command(story, {}, {"pyproject.toml": f"{PROJECT}\n[tool.mypy]\n[tool.pyright]\n"})
    assert (check.conclusion, check.title) == ("success", "Passed: 1 test")
    assert "Left out, because its program is not installed" in (check.summary or "")


# --- the repository's own workflows ------------------------------------------------------------------------


async def test_workflows_of_the_repository_test_it(story: Story, model: ScriptedModel) -> None:
    """Forge waits for them, takes a failure from the log, and proposes the mended head once they pass."""
    model.when(FAILED, build_judgement(0.9))
    model.when(MEND, patches(change("x", "discount").replace("1 - x", "1 + discount")), MENDED)
    asked = await open_issue(story, **ACTIONS)
    model.when("Title: Discounts", plan())
    model.when(TASK, patches(OFF, TEST), DONE)
    await asked.comment(asked.alice, "/forge run")
    pull = get_pull_request(asked)
    first = pull.head_sha
    log = "FAILED tests/test_cart.py::test_discount - assert 15.0 == 5\n##[error]Process completed with exit code 1.\n"
    ran = story.github.run_workflow(asked.repository, first, "CI", {"test": ("failure", log)})
    await story.settle()
    assert get_check(story, asked, first).status != "completed"  # it is run once more
    story.github.advance_workflow(ran, {"test": ("failure", log)})
    await story.settle()
    assert ran.run_attempt == 2
    told = next(call.content for call in model.calls if FAILED in call.content)
    assert "assert 15.0 == 5" in told
    assert get_check(story, asked, first).title == "1 command failed"
    assert pull.head_sha != first
    assert pull.draft
    story.github.run_workflow(asked.repository, pull.head_sha, "CI", {"test": ("success", "")})
    await story.settle()
    assert get_check(story, asked, pull.head_sha).conclusion == "success"
    assert await get_outcome(story) == ("completed", "proposed")
    assert not pull.draft
    assert first_lines(story.comments(pull)) == snapshot([])


async def test_where_no_workflow_begins_that_is_said(story: Story, model: ScriptedModel) -> None:
    asked, pull = await propose_diffs(story, model, DIFF, **ACTIONS)
    await jump_ahead(story, minutes=11)
    assert "GitHub began no workflow on this head" in (get_check(story, asked, pull.head_sha).summary or "")
    assert pull.draft
    assert "Forge could not test it" in asked.status
