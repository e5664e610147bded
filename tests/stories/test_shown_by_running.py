"""What the model calls an error is shown by a test that Forge runs, or it does not block as if it were."""

from collections.abc import Mapping

import pytest
from pydantic import JsonValue

from agents.llm.scripted import ScriptedModel
from simulator import User
from simulator.state import PullRequest
from tests.stories.driver import Story
from tests.world.summing_shop import BROKEN, FILES

LINE = "    return sum(prices[1:])"
ASKED = "== your test"
SHOWS = "import shop\n\n\ndef test_first_price_counts():\n    assert shop.total([1, 2]) == 3\n"
PASSES = "import shop\n\n\ndef test_last_price_counts():\n    assert shop.total([0, 2]) == 2\n"


@pytest.fixture
def backend() -> str:
    """These say nothing about the database."""
    return "sqlite"


def claim(**other: JsonValue) -> dict[str, JsonValue]:
    """What the first look says of the broken sum."""
    told: dict[str, JsonValue] = {
        "rule": "model/logic-error",
        "path": "shop.py",
        "line": 2,
        "end_line": 2,
        "quote": LINE.strip(),
        "severity": "error",
        "confidence": 0.9,
        "message": "The first price is left out of the total.",
    }
    return told | other


def find_and_prove(model: ScriptedModel, *tests: Mapping[str, JsonValue], verdict: str = "proven") -> None:
    """The model finds the broken sum, stands by it or not, and writes these tests, one after the other."""
    quote = LINE.strip() if verdict != "unsure" else ""
    model.when("prices[1:]", {"findings": [claim()]})
    model.when("== candidates", {"verdicts": [{"number": 1, "why": "w", "verdict": verdict, "quote": quote}]})
    model.when(ASKED, *tests)


async def propose(
    story: Story, changed: Mapping[str, str | None], files: Mapping[str, str] = FILES, settings: str = ""
) -> tuple[PullRequest, User]:
    """A pull request of alice's."""
    configured = {".github/forge.yml": settings} if settings else {}
    repository, alice = story.repository({**files, **configured})
    await alice.push(repository, "work", changed, base="main")
    pull = await alice.open_pull_request(repository, "work", "main", title="Sum less")
    await story.settle()
    return pull, alice


def check_of(story: Story, pull: PullRequest) -> tuple[str, str]:
    """The conclusion of the review's check, and what it says."""
    check = story.check(pull.repository, pull.head_sha)
    return check.conclusion or "", check.summary or ""


async def test_an_error_is_shown_by_a_test_that_fails(story_with_model: Story, model: ScriptedModel) -> None:
    story = story_with_model
    find_and_prove(model, {"test": SHOWS})
    pull, _ = await propose(story, {"shop.py": BROKEN})
    conclusion, said = check_of(story, pull)
    assert conclusion == "failure"
    assert "1 finding shown by running" in said
    [comment] = story.comments(pull)
    assert "**Shown by running**: the test below fails with this change and passes without it." in comment.body
    assert "def test_first_price_counts():" in comment.body
    assert "assert 2 == 3" in comment.body.partition(pull.head_sha[:7])[2]
    assert "Without the change it passes." in comment.body
    [asked] = [call for call in model.calls if ASKED in call.content]
    assert "== a test that is there: tests/test_shop.py" in asked.content
