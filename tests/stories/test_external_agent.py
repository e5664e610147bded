"""An agent of another make works in a shadow: its change is taken as a whole or not at all, and its calls are paid."""

from decimal import Decimal

import pytest

from agents.llm.scripted import ScriptedModel
from domain.money import FixedPrice
from tests.stories.driver import Story
from tests.world.cart import DIFF
from tests.world.command_line_agent import DISCOUNT, FILES, REPORT, list_changed, run_issue, says
from tests.world.issues import DONE, TASK, TEST, get_pull_request, open_issue, patches, plan
from tests.world.verification import get_outcome

TOLD = "Nothing of what you changed was taken"


async def test_what_it_changed_becomes_a_pull_request(story: Story, model: ScriptedModel) -> None:
    model.when(TASK, says(files=DISCOUNT, report=REPORT, commands=["python3 -m pytest -q"]))
    asked = await run_issue(story, model)
    pull = get_pull_request(asked)
    assert await get_outcome(story) == ("completed", "proposed")
    assert not pull.draft
    assert "`total` takes a discount." in (pull.body or "")
    assert list_changed(asked) == ["shop/cart.py", "tests/test_cart.py"]  # no droppings of pytest
    told = next(call for call in model.calls if TASK in call.content)
    assert "Change files only in the areas listed as allowed" in told.content


async def test_what_may_not_be_taken_is_told_and_corrected(story: Story, model: ScriptedModel) -> None:
    """Its first change is refused as a whole. A link is removed at once, with all that may not be taken."""
    outside = {**DISCOUNT, ".github/workflows/ci.yml": "on: push\n", "shop/more.py": "A = 1\n"}
    model.when(TASK, says(files=outside, commands=["ln -s /etc/passwd shop/link"]))
    model.when(TOLD, says(undo=["shop/more.py"], report=REPORT))
    asked = await run_issue(story, model)
    told = next(call.content for call in model.calls if TOLD in call.content)
    assert "these changes were removed" in told
    assert "- .github/workflows/ci.yml: The plan allows changes in `shop/**` and `tests/**` only." in told or (
        ".github/workflows/ci.yml" in told
    )
    assert "shop/link" in told
    assert await get_outcome(story) == ("completed", "proposed")
    assert list_changed(asked) == ["shop/cart.py", "tests/test_cart.py"]


async def test_what_hides_a_failure_is_told_and_taken_back(story: Story, model: ScriptedModel) -> None:
    """It empties the tests that stand in its way; it is told which are missed, and brings them back."""
    emptied = "def test_nothing():\n    pass\n"
    model.when(TASK, says(files={**DISCOUNT, "tests/test_cart.py": emptied}, report=REPORT))
    model.when("== recovery", says(files=DISCOUNT, report=REPORT))
    asked = await run_issue(story, model)
    told = next(call.content for call in model.calls if "== recovery" in call.content)
    assert "This task was begun before. Go on from the files as they are now" in told
    assert "The test `test_total` is gone." in told
    assert "It is fine if another test checks the same" in told
    assert await get_outcome(story) == ("completed", "proposed")
    assert list_changed(asked) == ["shop/cart.py", "tests/test_cart.py"]
    pull = get_pull_request(asked)
    assert "def test_discount" in (asked.repository.git.read(pull.head_sha, "tests/test_cart.py") or b"").decode()


async def test_what_is_never_allowed_is_never_taken(story: Story, model: ScriptedModel) -> None:
    model.when(TASK, says(files={**DISCOUNT, ".github/workflows/ci.yml": "on: push\n"}))
    asked = await run_issue(story, model)
    assert story.gates(asked.issue) == ["help_needed"]
    assert len([call for call in model.calls if TASK in call.content]) == 3
    [question] = story.questions(asked.issue)
    assert "What it changed may not be taken: .github/workflows/ci.yml" in question.body.replace("`", "")


async def test_who_rejects_a_failed_agent_has_it_not_started_again(story: Story, model: ScriptedModel) -> None:
    model.when(TASK, says(files=DISCOUNT, status=3), says(files=DISCOUNT, report=REPORT))
    asked = await run_issue(story, model)
    assert "The agent ended with exit status 3" in story.questions(asked.issue)[-1].body
    await asked.comment(asked.alice, "/forge reject help_needed no")
    assert await get_outcome(story) == ("failed", "stuck")
    assert len([call for call in model.calls if TASK in call.content]) == 1


async def test_what_is_no_text_is_not_taken(story: Story, model: ScriptedModel) -> None:
    model.when(TASK, says(files=DISCOUNT, commands=["cp /bin/true shop/helper.so"]))
    model.when(TOLD, says(undo=["shop/helper.so"], report={"summary": "Half of it.", "is_done": False}))
    asked = await run_issue(story, model)
    told = next(call.content for call in model.calls if TOLD in call.content)
    assert "shop/helper.so: It holds a NUL character, so it is not text." in told
    assert story.gates(asked.issue) == ["help_needed"]  # it says itself that it is not done
    [question] = story.questions(asked.issue)
    assert "T1 Take a discount off the total: It does not say what is missing" in question.body


async def test_what_the_set_up_leaves_is_not_its_doing(story: Story, model: ScriptedModel) -> None:
    setup = "commands: {setup: \"sh -c 'mkdir made && echo 1 > made/it && ln -s /bin/true made/link'\"}\n"
    odd = "ln -s /etc/passwd $FORGE_REPORT"  # a report that cannot be read says nothing
    model.when(TASK, says(files=DISCOUNT, commands=[odd]))
    asked = await run_issue(story, model, **{".github/forge.yml": FILES[".github/forge.yml"] + setup})
    assert await get_outcome(story) == ("completed", "proposed")
    assert list_changed(asked) == ["shop/cart.py", "tests/test_cart.py"]
    assert "It says nothing about what it changed." in (get_pull_request(asked).body or "")


async def test_an_agent_that_goes_on_without_its_model_is_ended(story: Story, model: ScriptedModel) -> None:
    """It would sleep for an hour; the run does not wait for that."""
    again = (
        "python3 - <<'EOF'\nimport os, time, urllib.request\nurl = os.environ['OPENAI_BASE_URL'] + '/chat/completions'\n"
        "key = {'Authorization': 'Bearer ' + os.environ['OPENAI_API_KEY']}\n"
        "try:\n    urllib.request.urlopen(urllib.request.Request(url, b'{}', key))\nexcept Exception:\n    pass\n"
        "time.sleep(3600)\nEOF"
    )
    model.when(TASK, says(files=DISCOUNT, commands=[again]))
    few = FILES[".github/forge.yml"].replace('{task_file}"', '{task_file}", calls: 1')
    asked = await run_issue(story, model, **{".github/forge.yml": few})
    [question] = story.questions(asked.issue)
    assert "The agent used up its calls of a model" in question.body


async def test_it_has_no_network_no_git_and_no_key_but_for_its_model(story: Story, model: ScriptedModel) -> None:
    """What it finds out it writes into a file of the repository."""
    look = "env > shop/env.txt; ls -a >> shop/env.txt; ls / /root /home >> shop/env.txt 2>&1; id -u >> shop/env.txt"
    reach = "python3 -c \"import socket; socket.create_connection(('1.1.1.1', 80), 2)\" >> shop/env.txt 2>&1"
    model.when(TASK, says(files=DISCOUNT, commands=[look, reach], report=REPORT))
    asked = await run_issue(story, model)
    pull = get_pull_request(asked)
    story.pass_over(pull)
    found = (asked.repository.git.read(pull.head_sha, "shop/env.txt") or b"").decode()
    assert "OPENAI_API_KEY=" in found
    assert "PRIVATE KEY" not in found
    assert "\n.git\n" not in found
    assert "Network is unreachable" in found or "OSError" in found


async def test_an_agent_that_changes_nothing_is_believed(story: Story, model: ScriptedModel) -> None:
    model.when(TASK, says(report={"summary": "It can do that.", "is_done": True}))
    asked = await run_issue(story, model)
    assert await get_outcome(story) == ("completed", "unchanged")
    assert "Nothing was changed, so there is no pull request" in asked.status


async def test_files_that_are_never_sent_are_not_there(story: Story, model: ScriptedModel) -> None:
    """That they are missing is no change of the agent, and it cannot make others in their place."""
    configuration = FILES[".github/forge.yml"] + "review: {never_send: ['**/*.env']}\n"
    model.when(TASK, says(files={**DISCOUNT, "shop/found.py": ""}, commands=["ls -a shop > shop/found.py"]))
    asked = await run_issue(story, model, **{".github/forge.yml": configuration})
    pull = get_pull_request(asked)
    story.pass_over(pull)
    assert list_changed(asked) == ["shop/cart.py", "shop/found.py", "tests/test_cart.py"]
    assert (asked.repository.git.read(pull.head_sha, "shop/found.py") or b"").split() == [
        *(b".", b".."),
        *(b"cart.py", b"found.py"),
    ]
    assert asked.repository.git.read(pull.head_sha, "shop/secret.env") == b"nothing of yours\n"


async def test_what_it_did_is_not_done_again(story: Story, model: ScriptedModel) -> None:
    """The run waits after the first task; the agent is not started for that one again."""
    model.when("== your task: T2", says(status=1), says(files={"shop/receipt.py": "SUM = 1\n"}, report=REPORT))
    model.when(TASK, says(files=DISCOUNT, report=REPORT))
    asked = await open_issue(story, **FILES)
    model.when("Title: Discounts", plan(then="Print it"))
    await asked.comment(asked.alice, "/forge run")
    assert story.gates(asked.issue) == ["help_needed"]
    await asked.comment(asked.alice, "/forge approve help_needed")
    story.pass_over(get_pull_request(asked))
    assert len([call for call in model.calls if TASK in call.content]) == 1
    assert list_changed(asked) == ["shop/cart.py", "shop/receipt.py", "tests/test_cart.py"]


@pytest.mark.parametrize("model", [FixedPrice(Decimal(50), Decimal(50))], indirect=True)
async def test_its_calls_are_paid_by_the_run(story: Story, model: ScriptedModel) -> None:
    """Where the budget ends it is stopped, a person is asked, and with more money it begins anew."""
    model.when(TASK, says(files=DISCOUNT, report=REPORT))
    configuration = FILES[".github/forge.yml"] + "budgets: {phase: {implementation: 0.05}}\n"
    asked = await run_issue(story, model, **{".github/forge.yml": configuration})
    assert story.gates(asked.issue) == ["cost_overrun"]
    assert not [call for call in model.calls if TASK in call.content]
    await asked.comment(asked.alice, "/forge continue 50usd")
    story.pass_over(get_pull_request(asked))
    assert list_changed(asked) == ["shop/cart.py", "tests/test_cart.py"]
    assert "Spent by this run so far: " in asked.status


@pytest.mark.own_forge(sandbox="landlock")
async def test_where_no_sandbox_can_hold_it_the_own_agent_works(story: Story, model: ScriptedModel) -> None:
    model.when(TASK, patches(DIFF, TEST), DONE)
    asked = await run_issue(story, model)
    pull = get_pull_request(asked)
    story.pass_over(pull)
    assert "needs sandbox level 3; at level 2 Forge's own agent worked. `total` takes a discount." in (pull.body or "")
