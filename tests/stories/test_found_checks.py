"""A check that rules call lost, and a model finds in a test that runs: then nobody is asked; its word alone is not enough."""

import pytest
from pydantic import JsonValue

from agents.llm.scripted import ScriptedModel
from tests.stories.driver import Story

CODE = "def total(prices):\n    return sum(prices)\n"
BEFORE = """import shop


def test_nothing_costs_nothing():
    assert shop.total([]) == 0


def test_prices_are_added():
    assert shop.total([1, 2]) == 3
"""
AFTER = """import shop

# shop.total([]) == 0 is checked below


def test_every_sum():
    for count in range(5):
        assert shop.total([7] * count) == 7 * count


def test_many():
    import pytest

    pytest.skip("slow")
    assert shop.total([1] * 10**6) == 10**6
"""
HERE = "assert shop.total([7] * count) == 7 * count"
SKIPPED = "assert shop.total([1] * 10**6) == 10**6"
ASKED = "== checks that rules call lost"


@pytest.fixture
def backend() -> str:
    """These say nothing about the database."""
    return "sqlite"


def name_place(model: ScriptedModel, line: int, quote: str) -> None:
    place: dict[str, JsonValue] = {"verdict": "kept", "path": "test_shop.py", "line": line, "quote": quote}
    model.when(ASKED, {"checks": [{"number": number, "why": "", **place} for number in (1, 2)]})


async def test_a_check_that_stands_in_another_test_asks_nobody(story_with_model: Story, model: ScriptedModel) -> None:
    name_place(model, 9, HERE)  # one line off, as models count
    story = story_with_model
    repository, alice = story.repository({"shop.py": CODE, "test_shop.py": BEFORE})
    await alice.push(repository, "work", {"test_shop.py": AFTER.partition("\n\ndef test_many")[0]}, base="main")
    pull = await alice.open_pull_request(repository, "work", "main", title="Check every sum")
    await story.settle()
    [question] = [call.content for call in model.calls if ASKED in call.content]
    assert "-    assert shop.total([]) == 0" in question
    assert story.gates(pull) == []
    check = story.check(pull.repository, pull.head_sha)
    assert check.conclusion == "success"
    assert "checks the same now, as a model says: test_shop.py:8." in f"{check.summary}{check.text}"
    story.pass_over(pull)


async def test_a_place_that_does_not_run_is_none(story_with_model: Story, model: ScriptedModel) -> None:
    name_place(model, 15, SKIPPED)
    story = story_with_model
    repository, alice = story.repository({"shop.py": CODE, "test_shop.py": BEFORE})
    await alice.push(repository, "work", {"test_shop.py": AFTER}, base="main")
    pull = await alice.open_pull_request(repository, "work", "main", title="Check every sum")
    await story.settle()
    assert story.gates(pull) == ["destructive"]
    story.pass_over(pull)


async def test_a_fork_is_not_believed(story_with_model: Story, model: ScriptedModel) -> None:
    name_place(model, 8, HERE)
    story = story_with_model
    repository, alice = story.repository({"shop.py": CODE, "test_shop.py": BEFORE})
    mallory = story.github.user("mallory")
    fork = await mallory.fork(repository)
    await mallory.push(fork, "work", {"test_shop.py": AFTER.partition("\n\ndef test_many")[0]}, base="main")
    pull = await mallory.open_pull_request(repository, "work", head_repo=fork)
    await story.settle()
    await alice.comment(pull, "/forge review")
    await story.settle()
    assert not [call for call in model.calls if ASKED in call.content]
    assert "destructive" in story.gates(pull)
    story.pass_over(pull)
