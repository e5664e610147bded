"""A model says why tests failed that somebody asked for on a pull request."""

import pytest

from agents.llm.scripted import Fails, ScriptedModel
from simulator.state import CheckRun, PullRequest
from tests.stories.driver import Story
from tests.world.issues import SHOP
from tests.world.verification import FAILED, build_judgement

BROKEN = "def total(prices):\n    return 0\n"


async def ask_for_tests(story: Story, configured: str = "") -> tuple[PullRequest, CheckRun]:
    repository, alice = story.repository({**SHOP, ".github/forge.yml": configured} if configured else SHOP)
    pull, _ = await story.propose(repository, alice, {"shop/cart.py": BROKEN}, "work", title="Simplify")
    await story.after(alice.comment(pull, "/forge test"))
    story.pass_over(pull)
    [check] = story.github.check_runs(repository, pull.head_sha, "Forge / test")
    return pull, check


async def test_a_failure_is_explained(story: Story, model: ScriptedModel) -> None:
    model.when(FAILED, build_judgement(0.9))
    _, check = await ask_for_tests(story)
    assert (check.conclusion, check.title) == ("failure", "1 test failed")
    summary = check.summary or ""
    assert "### What it means" in summary
    assert "The discount is added. **Suggested:** In shop/cart.py:2: Take it off: 1 - discount." in summary
    assert len([call for call in model.calls if FAILED in call.content]) == 1


@pytest.mark.parametrize("configured", ["review: {model: never}\n", ""])
async def test_where_no_model_explains_the_result_is_the_same(
    story: Story, model: ScriptedModel, configured: str
) -> None:
    model.when(FAILED, build_judgement(0.9) if configured.startswith("review") else Fails(400))
    _, check = await ask_for_tests(story, configured)
    assert (check.conclusion, check.title) == ("failure", "1 test failed")
    assert "The discount is added." not in (check.summary or "")
    if configured.startswith("review"):
        assert not [call for call in model.calls if FAILED in call.content]
