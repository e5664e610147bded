"""What was there, or was dismissed, says nothing of the same line where it has become graver."""

import pytest

from agents.llm.scripted import ScriptedModel
from tests.stories.driver import Story
from tests.world.model_findings import DIVISION, PAY, claim

CALM = (
    "import subprocess\n\nimport flask\n\nTARGET = 'all'\n\n\n"
    "def build():\n    cmd = TARGET\n    subprocess.run(f'make {cmd}', shell=True)\n"
)
TAINTED = CALM.replace("cmd = TARGET", "cmd = flask.request.args['x']")


async def test_an_old_warning_hides_no_new_error(story: Story) -> None:
    """The line is as it was: what it is given has changed."""
    repository, alice = story.repository({"shop/build.py": CALM, "tests/test_x.py": ""})
    pull, head = await story.propose(repository, alice, {"shop/build.py": TAINTED})
    assert story.check(repository, head).conclusion == "failure"
    assert any("shell" in each.body for each in story.comments(pull))


async def test_who_dismissed_a_warning_said_nothing_of_an_error(story: Story) -> None:
    """Said once more, of the error, it holds."""
    repository, alice = story.repository({"app.py": "x = 1\n"})
    carol = story.member(repository, "carol", "maintain")
    pull, _ = await story.propose(repository, alice, {"shop/build.py": CALM})
    [comment] = [each for each in story.comments(pull) if "shell" in each.body]
    await story.after(carol.reply(comment, "/forge dismiss the target is a constant"))
    head = await story.after(alice.push(repository, "feature", {"shop/build.py": TAINTED}))
    assert story.check(repository, head).conclusion == "failure"
    await story.after(carol.reply(comment, "/forge dismiss the server is ours alone"))
    assert story.check(repository, head).conclusion != "failure"
    story.pass_over(pull)


@pytest.mark.parametrize("unshown", ["block", "warn"])
async def test_an_error_is_said_on_lines_that_a_push_does_not_reach(
    story: Story, model: ScriptedModel, unshown: str
) -> None:
    """Also where the repository wants it to be a warning because no test shows it."""
    settings = {".github/forge.yml": f"review: {{unshown: {unshown}}}\n"}
    repository, alice = story.repository({"README.md": "# Shop\n", "tests/test_shop.py": "", **settings})
    pull, _ = await story.propose(repository, alice, {"billing/pay.py": PAY}, title="Add totals")
    model.when("VALUE_7 = 70", {"findings": [claim()]})
    model.when("== candidates", {"verdicts": [{"number": 1, "verdict": "proven", "quote": DIVISION}]})
    await alice.push(repository, "feature", {"billing/pay.py": PAY.replace("VALUE_7 = 7\n", "VALUE_7 = 70\n")})
    await story.settle()
    assert len(story.comments(pull)) == 1
