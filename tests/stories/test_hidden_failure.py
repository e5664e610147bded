"""A failure that a change hides, as a model claims: a remark, since only a test that fails proves it."""

from typing import Literal

import pytest
from pydantic import JsonValue

from agents.llm.scripted import ScriptedModel
from simulator import User
from simulator.state import PullRequest
from tests.stories.driver import Story

CODE = "def total(prices):\n    return sum(prices[1:])\n"
HIDDEN = "def total(prices):\n    return sum(prices[1:]) + (prices[0] if len(prices) < 3 else 0)\n"
QUOTE = HIDDEN.splitlines()[1].strip()
TEST = "import shop\n\n\ndef test_total():\n    assert shop.total([1, 2]) == 3\n"
Verdict = Literal["proven", "unsure"]


def claim_hidden_failure(model: ScriptedModel, verdict: Verdict) -> None:
    found: dict[str, JsonValue] = {
        "rule": "avoidance/failure-hidden",
        "path": "shop.py",
        "line": 2,
        "end_line": 2,
        "quote": QUOTE,
        "harm": "wrong_result",
        "met_by": "caller",
        "confidence": 0.9,
        "message": "It adds the first price only where there are fewer than three, as in the test. Sum all of them.",
    }
    model.when("len(prices) < 3", {"findings": [found]})
    model.when("== candidates", {"verdicts": [{"number": 1, "why": "", "verdict": verdict, "quote": QUOTE}]})


async def _propose(story: Story, settings: str = "") -> tuple[PullRequest, User, User]:
    """A pull request of alice; carol maintains."""
    configured = {".github/forge.yml": settings} if settings else {}
    repository, alice = story.repository({"shop.py": CODE, "test_shop.py": TEST, **configured})
    carol = story.member(repository, "carol", "maintain")
    pull, _ = await story.propose(repository, alice, {"shop.py": HIDDEN}, "work", title="Tidy up")
    return pull, alice, carol


@pytest.mark.parametrize("verdict", ["proven", "unsure"])
async def test_a_claim_is_a_remark(story: Story, model: ScriptedModel, verdict: Verdict) -> None:
    """However sure the model is, it blocks nothing and asks nobody: no test fails."""
    claim_hidden_failure(model, verdict)
    pull, _, _ = await _propose(story)
    assert story.gates(pull) == []
    [comment] = story.comments(pull)
    assert "fewer than three" in comment.body
    assert comment.body.startswith("🟡 **Warning**")
    [check] = story.github.check_runs(pull.repository, pull.head_sha, "Forge / review")
    assert check.conclusion == "success"


async def test_nobody_hears_of_what_is_switched_off(story: Story, model: ScriptedModel) -> None:
    claim_hidden_failure(model, "proven")
    pull, _, _ = await _propose(story, "avoidance: {failure_hidden: off}\n")
    assert (story.gates(pull), story.comments(pull)) == ([], [])
