"""Forge's own agent in interactive mode: its commands run in a shadow, and what they change is taken or refused."""

from agents.llm.scripted import ScriptedModel, Uses
from tests.stories.driver import Story
from tests.world.cart import DIFF
from tests.world.issues import DONE, TASK, TEST, IssueScene, get_pull_request, open_issue, patches, plan
from tests.world.verification import get_outcome

GENERATE = "with open('shop/rates.py', 'w') as file:\n    file.write('TENTH = 0.1\\n')\nprint('made the rates')\n"
FILES = {
    ".github/forge.yml": "execution: {mode: interactive, commands: ['python3 *']}\n",
    "tools/generate.py": GENERATE,
}


def runs(*lines: str) -> Uses:
    """Runs commands, one after the other."""
    return Uses([("run_command", {"command": line}) for line in lines])


async def run_issue(story: Story, model: ScriptedModel, words: str = "/forge run", **files: str) -> IssueScene:
    asked = await open_issue(story, **{**FILES, **files})
    model.when("Discounts", plan())
    await asked.comment(asked.alice, words)
    return asked


def list_changed(asked: IssueScene) -> list[str]:
    pull = get_pull_request(asked)
    return [each.path for each in asked.repository.git.diff(pull.base_sha, pull.head_sha)]


async def test_what_a_command_makes_becomes_part_of_the_change(story_with_model: Story, model: ScriptedModel) -> None:
    model.when(TASK, patches(DIFF, TEST), runs("python3 tools/generate.py"), DONE)
    asked = await run_issue(story_with_model, model)
    pull = get_pull_request(asked)
    assert await get_outcome(story_with_model) == ("completed", "proposed")
    assert list_changed(asked) == ["shop/cart.py", "shop/rates.py", "tests/test_cart.py"]
    assert asked.repository.git.read(pull.head_sha, "shop/rates.py") == b"TENTH = 0.1\n"
    assert "without commands" not in (pull.body or "")
