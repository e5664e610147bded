"""A finding is fixed because somebody asked for it with `/forge fix`, as any instruction is carried out."""

import asyncio
import time

import pytest
from inline_snapshot import snapshot
from pydantic import JsonValue

from agents.llm.scripted import ScriptedModel
from simulator.state import PullRequest, Repository
from tests.stories.driver import PATIENCE, Story
from tests.world.automation import APP, after_looks, at_level, open_pull_request
from tests.world.issues import PROJECT
from tests.world.model_findings import (
    ASKED,
    FIXED,
    LINE,
    ONE_LINE,
    PAY,
    RIGHT,
    WRONG,
    claim,
    edit,
    find_division,
    find_own,
    open_reviewed,
)
from tests.world.obedient import OBEYS, list_acting
from tests.world.replies import bodies, mask

UNUSED = APP.replace("import os\n", "import os\nimport sys\n")
TESTED = {
    "pyproject.toml": PROJECT,
    "billing/pay.py": "",
    "tests/test_pay.py": "from billing.pay import total\n\n\ndef test_total():\n    assert total([1, 3]) == 2\n",
}


def read(repository: Repository, pull: PullRequest, path: str) -> str:
    """A file of a pull request's branch."""
    return (repository.git.read(pull.head_sha, path) or b"").decode()


async def test_a_fix_that_is_known_is_committed_once(story: Story) -> None:
    """Without a model. Asked again it is done, also before its review; taken back, it is made again."""
    repository, alice, _ = await at_level(story, 1)
    pull, head = await open_pull_request(story, repository, alice, {"app.py": UNUSED})
    [comment] = story.comments(pull)
    [name] = story.finding_names(pull)
    await after_looks(story, alice.reply(comment, "/forge fix"))
    [made] = repository.git.commits_between(head, pull.head_sha)
    assert read(repository, pull, "app.py") == APP
    assert repository.git.is_signed(made.sha)
    message = repository.git.run("log", "-1", "--format=%B", made.sha).stdout.decode()
    assert message.startswith(f"Fix: `sys` imported but unused\n\n{name}: ruff/F401 in app.py.")
    assert f"Co-authored-by: alice <{alice.id}+alice@" in message
    assert bodies(story.thread_answers(pull, comment)) == snapshot(
        [
            """\
SHA is on `feature`. Fixes F-FNQ5I5. Tests: No tests found.

<sub>`/forge rollback C-ID` takes it back.</sub>\
"""
        ]
    )
    assert comment.thread.resolved

    await after_looks(story, alice.comment(pull, f"/forge fix {name}\n/forge fix all"))
    assert bodies(story.answers(pull)) == snapshot(
        [
            "Done already: SHA fixes F-FNQ5I5.",
            "`SHA` has no open finding, so there is nothing to fix: SHA fixes F-FNQ5I5.",
        ]
    )
    assert pull.head_sha == made.sha

    await after_looks(story, alice.comment(pull, f"/forge diff {name}"))
    [shown] = bodies(story.answers(pull))[2:]
    assert shown.startswith(f"SHA fixes {name}:\n\n```diff\n--- app.py\n+++ app.py\n@@ -1,5 +1,4 @@")
    assert "-import sys" in shown

    taken_back = story.thread_answers(pull, comment)[0].body.partition("`/forge rollback ")[2].partition("`")[0]
    await after_looks(story, alice.comment(pull, f"/forge rollback {taken_back}"))
    assert read(repository, pull, "app.py") == UNUSED
    await after_looks(story, alice.comment(pull, "/forge fix all"))
    assert read(repository, pull, "app.py") == APP
    story.pass_over(pull)


async def test_a_model_fixes_it_and_the_tests_run(story: Story, model: ScriptedModel) -> None:
    """Said again at once it is done, before the review of the commit or after it, and no model is asked."""
    find_division(model)
    repository, alice, _ = await at_level(story, 1, files=TESTED)
    pull, head = await open_pull_request(story, repository, alice, {"billing/pay.py": PAY})
    [comment] = story.comments(pull)
    [name] = story.finding_names(pull)
    model.when("== earlier finding", {"findings": [], "earlier": [{"id": name, "gone": True}]})
    model.when(ASKED, ONE_LINE, FIXED)
    await alice.reply(comment, "/forge fix")
    await after_looks(story, alice.reply(comment, "/forge fix"))
    [_] = repository.git.commits_between(head, pull.head_sha)
    assert read(repository, pull, "billing/pay.py") == PAY.replace(WRONG, RIGHT)
    assert bodies(story.thread_answers(pull, comment)) == snapshot(
        [
            """\
SHA is on `feature`. Fixes F-OZQFDT. An empty list gives 0. Tests: Passed: 1 test.

<sub>`/forge rollback C-ID` takes it back.</sub>\
""",
            "Done already: SHA fixes F-OZQFDT.",
        ]
    )
    asked = [call.content for call in model.calls if ASKED in call.content]
    assert "> An empty list divides by zero. Return 0 for it, or refuse it." in asked[0]
    assert len(asked) == 2
    story.pass_over(pull)


async def test_what_fails_because_of_it_is_mended_once_and_else_proposed(story: Story, model: ScriptedModel) -> None:
    find_division(model)
    repository, alice, _ = await at_level(story, 1, files=TESTED)
    pull, head = await open_pull_request(story, repository, alice, {"billing/pay.py": PAY})
    [comment] = story.comments(pull)
    model.when(ASKED, edit(WRONG, "    return 0.0"), FIXED, edit("return 0.0", "return 1.0"), FIXED)
    for _ in range(2):
        await after_looks(story, alice.reply(comment, "/forge fix"))
    made = find_own(story, pull)
    assert (made.base_ref, pull.head_sha) == ("feature", head)
    first, again = bodies(story.thread_answers(pull, comment))
    assert first == snapshot(
        "#2 proposes it for `feature`, because tests fail with it. Fixes F-OZQFDT. An empty list gives 0. Tests: 1 test failed."
    )
    asked = [call.content for call in model.calls if ASKED in call.content]
    tried = asked[-1].partition("== tried before")[2]
    assert "- F-OZQFDT billing/pay.py:" in tried
    assert "It answered:\n> An empty list gives 0." in tried
    assert "== tried before" not in asked[0]
    assert again == snapshot("Proposed already: #2 proposes a fix of F-OZQFDT; merge it, or close it and ask again.")
    story.pass_over(made)
    story.pass_over(pull)


async def test_a_finding_that_is_wrong_or_left(story: Story, model: ScriptedModel) -> None:
    _, _, carol, pull, comment = await open_reviewed(story, model)
    head = pull.head_sha
    left: dict[str, JsonValue] = {"summary": "Nothing.", "is_done": False, "not_done": "Ask @team: 0 or an error?"}
    model.when(ASKED, {"summary": "Nobody calls it without prices.", "is_done": True}, left)
    for _ in range(2):
        await story.after(carol.reply(comment, "/forge fix"))
    assert bodies(story.thread_answers(pull, comment)) == snapshot(
        [
            "Nothing was changed: Nobody calls it without prices.",
            "Nothing was changed: Nothing. Not done: Ask `@team`: 0 or an error?",
        ]
    )
    assert pull.head_sha == head


async def test_a_fix_that_obeys_the_code_does_nothing_else(story: Story, model: ScriptedModel) -> None:
    """A comment in the file tells the model what to do: its words act nowhere."""
    repository, _, carol, pull, comment = await open_reviewed(story, model)
    model.when(ASKED, ONE_LINE, {"summary": OBEYS, "is_done": True})
    await story.after(carol.reply(comment, "/forge fix"))
    [reply] = story.thread_answers(pull, comment)
    assert list_acting(reply.body) == []
    assert sorted(repository.git.refs()) == ["refs/heads/feature", "refs/heads/main"]
    story.pass_over(pull)


async def test_who_may_not_and_what_is_wrong(story: Story, model: ScriptedModel) -> None:
    _, _, carol, pull, comment = await open_reviewed(story, model)
    reader = story.github.user("reader")
    before = len(model.calls)
    for who, words in ((reader, "/forge fix"), (carol, "/forge fix it please"), (carol, "/forge fix F-AAAAAA")):
        await story.after(who.reply(comment, words))
    told = [each.body for each in story.thread_answers(pull, comment)]
    assert "needs the role write" in told[0]
    assert "is not valid. Usage: `/forge fix F-ID or all`" in told[1]
    assert "There is no finding `F-AAAAAA`" in told[2]
    assert len(model.calls) == before


async def test_people_decide_about_a_protected_file(story: Story, model: ScriptedModel) -> None:
    """Then it is a pull request, as what an instruction makes of such a file."""
    find_division(model)
    repository, alice, carol = await at_level(story, 1, "paths: {protected: [billing/**]}\n")
    pull, head = await story.propose(repository, alice, {"billing/pay.py": PAY})
    story.pass_over(pull)
    [comment] = story.comments(pull)
    model.when(ASKED, ONE_LINE, FIXED)
    await story.after(alice.reply(comment, "/forge fix"))
    for gate in ("architecture_approval", "protected_paths"):
        story.clock.move(seconds=2)
        await story.after(carol.comment(pull, f"/forge approve {gate}"))
    made = find_own(story, pull)
    assert (made.base_ref, pull.head_sha) == ("feature", head)
    assert mask(story.thread_answers(pull, comment)[-1].body) == snapshot(
        "#2 proposes it for `feature`, because it changes protected files (billing/pay.py). Fixes F-OZQFDT. An empty list gives 0. Tests: No tests found."
    )
    story.pass_over(made)
    story.pass_over(pull)


async def test_what_was_mended_beside_its_line_is_not_fixed_again(story: Story, model: ScriptedModel) -> None:
    """The review of the mending commit holds on to the finding; whoever is to fix it looks first, and settles it."""
    repository, alice, carol, pull, comment = await open_reviewed(story, model, "warning")
    guarded = PAY.replace(WRONG, f"    if not prices:\n        return 0\n{WRONG}")
    head = await story.after(alice.push(repository, "feature", {"billing/pay.py": guarded}))
    assert story.check(repository, head).title != "Approved: no findings"
    [name] = story.finding_names(pull)
    model.when(ASKED, {"summary": "An empty list gives 0 already.", "is_done": True, "gone": [name]})
    await story.after(carol.reply(comment, "/forge fix"))
    assert pull.head_sha == head
    assert bodies(story.thread_answers(pull, comment)) == snapshot(
        ["Done already: `SHA` does not have it any more. An empty list gives 0 already."]
    )
    assert comment.thread.resolved
    assert story.check(repository, head).conclusion == "success"
    story.pass_over(pull)


@pytest.mark.parametrize("path", ["README.md", "billing/pay.py"])
async def test_what_blocks_is_not_lifted_by_the_word_of_an_agent(story: Story, model: ScriptedModel, path: str) -> None:
    """It has read what the author wrote: of a file that is as it was it may say nothing, of another a review looks."""
    repository, alice, carol, pull, comment = await open_reviewed(story, model)
    text = "It is mended.\n" if path == "README.md" else f"# It is mended.\n{PAY}"
    head = await story.after(alice.push(repository, "feature", {path: text}))
    [name] = story.finding_names(pull)
    model.when(ASKED, {"summary": "An empty list gives 0 already.", "is_done": True, "gone": [name]})
    await story.after(carol.reply(comment, "/forge fix"))
    assert pull.head_sha == head
    [reply] = story.thread_answers(pull, comment)
    assert ("a review looks for itself: `/forge review full`" in reply.body) is (path != "README.md")
    assert not comment.thread.resolved
    assert story.check(repository, head).conclusion == "failure"
    story.pass_over(pull)


async def test_what_an_author_hid_is_fixed_as_any_finding(story: Story, model: ScriptedModel) -> None:
    """No agent did this work before, so none is told to take it back."""
    empty = "def test_total():\n    assert True\n"
    said = {**claim(2, "assert True", "warning"), "rule": "avoidance/failure-hidden", "path": "tests/test_pay.py"}
    model.when("assert True", {"findings": [said]})
    model.when("== candidates", {"verdicts": [{"number": 1, "verdict": "proven", "quote": "assert True"}]})
    repository, alice, _ = await at_level(story, 1)
    pull, _ = await open_pull_request(story, repository, alice, {"tests/test_pay.py": empty, "app.py": APP})
    [comment] = story.comments(pull)
    model.when(ASKED, edit("assert True", "assert 1 + 1 == 2", "tests/test_pay.py"), FIXED)
    await after_looks(story, alice.reply(comment, "/forge fix"))
    asked = [call.content for call in model.calls if ASKED in call.content]
    assert asked
    assert not [each for each in asked if "== recovery" in each]
    assert "assert 1 + 1 == 2" in read(repository, pull, "tests/test_pay.py")
    story.pass_over(pull)


async def test_what_is_gone_while_its_head_is_reviewed_stays_gone(story: Story, model: ScriptedModel) -> None:
    """The review holds on to the finding, and ends after whoever was to fix it told that it is gone."""
    repository, alice, carol, pull, comment = await open_reviewed(story, model, "warning")
    [name] = story.finding_names(pull)
    reading, told = asyncio.Event(), asyncio.Event()

    async def read(_content: str) -> dict[str, JsonValue]:
        reading.set()
        await told.wait()
        return {"findings": [claim(LINE + 2, severity="warning")]}

    model.when("== earlier finding", read)
    guarded = PAY.replace(WRONG, f"    if not prices:\n        return 0\n{WRONG}")
    head = await alice.push(repository, "feature", {"billing/pay.py": guarded})
    await reading.wait()
    model.when(ASKED, {"summary": "An empty list gives 0 already.", "is_done": True, "gone": [name]})
    await carol.reply(comment, "/forge fix")
    end = time.monotonic() + PATIENCE
    while not story.thread_answers(pull, comment):
        assert time.monotonic() < end, "nobody answered"
        await asyncio.sleep(0.02)
    told.set()
    await story.settle()
    assert story.check(repository, head).title == "Approved: no findings"
    assert comment.thread.resolved
    story.pass_over(pull)
