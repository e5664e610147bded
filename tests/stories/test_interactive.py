"""Forge's own agent in interactive mode: its commands run in a shadow, and what they change is taken or refused."""

import re

import pytest

from agents.llm.scripted import ScriptedModel, Uses
from tests.stories.driver import Story
from tests.world import command_line_agent
from tests.world.cart import DIFF
from tests.world.issues import DONE, TASK, TEST, IssueScene, get_pull_request, open_issue, patches, plan
from tests.world.verification import get_outcome

CONFIGURATION = "execution: {mode: interactive, commands: ['python3 *', 'ln *']}\n"
GENERATE = """\
import sys, uuid
with open(sys.argv[1], "w") as file:
    file.write(f"MADE = '{uuid.uuid4().hex}'\\n")
print("made", open(sys.argv[1]).read())
"""
FILES = {".github/forge.yml": CONFIGURATION, "tools/generate.py": GENERATE}
MADE = "python3 tools/generate.py shop/made.py"
CHANGED = ["shop/cart.py", "tests/test_cart.py"]
CART = patches(DIFF, TEST)


def runs(*lines: str) -> Uses:
    """Runs commands, one after the other."""
    return Uses([("run_command", {"command": line}) for line in lines])


async def run_issue(story: Story, model: ScriptedModel, words: str = "/forge run", **files: str) -> IssueScene:
    asked = await open_issue(story, **{**FILES, **files})
    model.when("Title: Discounts", plan())
    await asked.comment(asked.alice, words)
    return asked


def list_changed(asked: IssueScene) -> list[str]:
    pull = get_pull_request(asked)
    asked.told.pass_over(pull)
    return [each.path for each in asked.repository.git.diff(pull.base_sha, pull.head_sha)]


def read(asked: IssueScene, path: str) -> str:
    return (asked.repository.git.read(get_pull_request(asked).head_sha, path) or b"").decode()


def get_body(asked: IssueScene) -> str:
    return get_pull_request(asked).body or ""


async def get_mode(asked: IssueScene) -> str | None:
    """The mode that the issue's run was asked for in."""
    [mode] = {run.mode for run in await asked.told.runs() if run.number == asked.issue.number}
    return mode


def last_told(model: ScriptedModel) -> str:
    """What the implementer saw last."""
    return [call.content for call in model.calls if TASK in call.content][-1]


async def test_what_a_command_makes_becomes_part_of_the_change(story: Story, model: ScriptedModel) -> None:
    again = "python3 -c \"print(open('shop/cart.py').read()); open('shop/made.py', 'a').write('X = 1\\n')\""
    model.when(TASK, runs(MADE), CART, runs(again), DONE)
    asked = await run_issue(story, model)
    assert await get_outcome(story) == ("completed", "proposed")
    assert list_changed(asked) == ["shop/cart.py", "shop/made.py", "tests/test_cart.py"]
    told = last_told(model)
    assert "It changed these files of your draft:\n- shop/made.py: new, 1 line" in told
    assert "return sum(prices) * (1 - discount)" in told  # the second one saw the edit
    made = read(asked, "shop/made.py")
    assert made.splitlines()[0] in told
    assert made.endswith("\nX = 1\n")
    assert "without commands" not in get_body(asked)


async def test_what_may_not_be_changed_is_refused_as_a_whole(story: Story, model: ScriptedModel) -> None:
    """Nothing of it is in the draft, nor where the next command runs."""
    both = "open('shop/half.py', 'w').write('A = 1'); open('.github/workflows/ci.yml', 'w').write('on: push')"
    write = f"python3 -c \"import os; os.makedirs('.github/workflows'); {both}\""
    look = "python3 -c \"import os; print(os.listdir('shop'), os.listdir('.github'))\""
    model.when(TASK, CART, runs(write), runs(look), runs("ln -s /etc/passwd shop/link"), runs(look), DONE)
    asked = await run_issue(story, model)
    assert list_changed(asked) == CHANGED
    told = last_told(model)
    assert "Nothing of what it changed was taken, and your draft is as it was before:" in told
    assert "- .github/workflows/ci.yml (" in told
    assert "- shop/link (" in told
    seen = [line for line in told.splitlines() if line.startswith("['")]
    assert [sorted(re.findall("'([a-z.]+)'", line.split("] [")[0])) for line in seen] == [["cart.py", "secret.env"]] * 2


async def test_only_what_is_allowed_runs(story: Story, model: ScriptedModel) -> None:
    own = CONFIGURATION + "commands: {lint: \"sh -c 'echo fine > shop/lint.txt; exit 3'\"}\n"
    line = "sh -c 'echo fine > shop/lint.txt; exit 3'"
    model.when(TASK, CART, runs("rm -rf shop"), runs("python3 -c 1 '"), runs(line), DONE)
    asked = await run_issue(story, model, **{".github/forge.yml": own})
    told = last_told(model)
    assert "`rm -rf shop` is not allowed, and nothing was run. Allowed are" in told
    assert "`python3 *`, `ln *`" in told
    assert "it cannot be split into words" in told
    assert "It ended with exit status 3.\nIt changed these files of your draft:\n- shop/lint.txt: new" in told
    assert "shop/lint.txt" in list_changed(asked)


async def test_what_the_set_up_leaves_is_not_the_commands_doing(story: Story, model: ScriptedModel) -> None:
    setup = CONFIGURATION + "commands: {setup: \"sh -c 'echo 1 > shop/made.txt && echo A=1 >> shop/cart.py'\"}\n"
    model.when(TASK, CART, runs("python3 -c 1", MADE), DONE)
    asked = await run_issue(story, model, **{".github/forge.yml": setup})
    assert "It changed no file of your draft." in last_told(model)
    assert list_changed(asked) == ["shop/cart.py", "shop/made.py", "tests/test_cart.py"]
    assert "A=1" not in read(asked, "shop/cart.py")


async def test_what_commands_print_is_not_shown_where_files_must_not_leave(story: Story, model: ScriptedModel) -> None:
    configuration = CONFIGURATION + "review: {never_send: ['**/*.env']}\n"
    model.when(TASK, CART, runs("python3 -c \"import os; print('seen', os.listdir('shop'))\""), DONE)
    asked = await run_issue(story, model, **{".github/forge.yml": configuration})
    told = last_told(model)
    assert "It ended with exit status 0.\nIt changed no file of your draft." in told
    assert "[what it prints is not shown" in told
    assert "seen [" not in told
    assert list_changed(asked) == CHANGED


@pytest.mark.parametrize("configured", ["own", "external"])
async def test_a_run_may_be_deterministic_all_the_same(configured: str, story: Story, model: ScriptedModel) -> None:
    """Also with an agent of another make: Forge's own one works, without commands."""
    files = command_line_agent.FILES if configured == "external" else {}
    model.when(TASK, runs(MADE), CART, DONE)
    asked = await run_issue(story, model, "/forge run deterministic", **files)
    assert "There is no tool 'run_command'." in last_told(model)
    assert list_changed(asked) == CHANGED
    assert await get_mode(asked) == "deterministic"


async def test_who_retries_keeps_the_mode(story: Story, model: ScriptedModel) -> None:
    commands = CONFIGURATION.replace("interactive", "deterministic")
    undone = {**DONE, "is_done": False, "not_done": "All of it."}
    model.when(TASK, undone, CART, runs(MADE), DONE)
    asked = await run_issue(story, model, "/forge run Interactive", **{".github/forge.yml": commands})
    await asked.comment(asked.alice, "/forge cancel")
    await asked.comment(asked.alice, "/forge retry")
    assert "shop/made.py" in list_changed(asked)
    assert await get_mode(asked) == "interactive"


async def test_a_command_is_not_run_again(story: Story, model: ScriptedModel) -> None:
    """A limit stops the agent after it; the execution behind the gate has what it made, to the letter."""
    few = CONFIGURATION + "guards: {max_iterations: 3}\n"
    model.when(TASK, CART, runs(MADE), runs("python3 -c 1"), runs("python3 -c 2"), DONE)
    asked = await run_issue(story, model, **{".github/forge.yml": few})
    assert story.gates(asked.issue) == ["guard"]
    await asked.comment(asked.alice, "/forge continue 20it")
    assert "shop/made.py" in list_changed(asked)
    assert read(asked, "shop/made.py").strip() in last_told(model)


async def test_where_commands_cannot_run_the_agent_goes_on_without(story: Story, model: ScriptedModel) -> None:
    """The set-up leaves more than can be read back."""
    fill = "import sys\nfor name in range(80):\n    open(f'{name}.txt', 'w').write('a' * 900_000)\n"
    setup = CONFIGURATION + "commands: {setup: python3 tools/fill.py}\n"
    model.when(TASK, runs(MADE), runs(MADE), CART, DONE)
    asked = await run_issue(story, model, **{".github/forge.yml": setup, "tools/fill.py": fill})
    assert last_told(model).count("Commands cannot be run here: After `commands.setup` there is more") == 2
    assert list_changed(asked) == CHANGED
    assert "Commands could not be run for this in interactive mode; the agent worked without them." in get_body(asked)


async def test_without_a_command_that_is_allowed_the_pull_request_says_so(story: Story, model: ScriptedModel) -> None:
    model.when(TASK, CART, DONE)
    configuration = "execution: {mode: interactive}\n"
    asked = await run_issue(story, model, **{".github/forge.yml": configuration})
    assert list_changed(asked) == CHANGED
    assert "Interactive mode needs `execution.commands`; the agent worked without commands." in get_body(asked)


@pytest.mark.own_forge(sandbox="landlock")
async def test_commands_run_at_sandbox_level_2_too(story: Story, model: ScriptedModel) -> None:
    model.when(TASK, CART, runs(MADE), DONE)
    asked = await run_issue(story, model)
    assert list_changed(asked) == ["shop/cart.py", "shop/made.py", "tests/test_cart.py"]


@pytest.mark.own_forge(sandbox="none")
async def test_without_a_sandbox_for_commands_the_pull_request_says_so(story: Story, model: ScriptedModel) -> None:
    """Its tests cannot run there either: somebody lets it go on without them."""
    model.when(TASK, CART, runs(MADE), DONE)
    asked = await run_issue(story, model)
    await asked.comment(asked.alice, "/forge approve help_needed")
    assert list_changed(asked) == CHANGED
    assert "Interactive mode needs sandbox level 2; at level 1 the agent worked without commands." in get_body(asked)
