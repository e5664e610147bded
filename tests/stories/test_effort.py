"""How thoroughly a model reads a change: as the repository has it, or as somebody asks for one review."""

from decimal import Decimal
from pathlib import Path

import pytest

from agents.llm.models import Models, ModelTier
from agents.llm.scripted import ScriptedModel
from domain.money import FixedPrice
from tests.databases import create_database
from tests.stories.driver import Story, open_story
from tests.world.model_findings import FILLER, PAY, claim, find_division

AGENTS = "Money is never a float: use Decimal.\n"


async def _open(story: Story, effort: str = "", files: dict[str, str] | None = None):
    settings = {".github/forge.yml": f"review: {{effort: {effort}}}\n"} if effort else {}
    repository, alice = story.repository({"AGENTS.md": AGENTS, "tests/test_shop.py": "", **settings})
    pull, head = await story.propose(repository, alice, files or {"billing/pay.py": PAY}, title="Add totals")
    return repository, alice, pull, head


async def test_low_effort_asks_one_question_and_looks_again_at_what_would_block(
    story: Story, model: ScriptedModel
) -> None:
    sure = claim(severity="warning") | {"rule": "model/missing-edge-case", "confidence": 0.9}
    doubtful = claim(3, "VALUE_2 = 2", severity="warning") | {"confidence": 0.8}
    model.when("len(prices)", {"findings": [sure, doubtful]})
    repository, _, pull, head = await _open(story, "low")
    [asked] = model.calls  # neither conventions nor a second look
    assert AGENTS not in asked.content
    [comment] = story.comments(pull)
    assert "An empty list divides by zero." in comment.body
    check = story.check(repository, head)
    assert check.conclusion == "success"
    assert "Read with effort low." in (check.summary or "")

    find_division(model)  # an error
    head = await story.github.user("alice").push(repository, "feature", {"billing/two.py": PAY})
    model.when("== billing/two.py", {"findings": [claim() | {"path": "billing/two.py"}]})
    model.when(
        "== candidates",
        {"verdicts": [{"number": 1, "verdict": "refuted", "quote": "return sum(prices) / len(prices)"}]},
    )
    await story.settle()
    assert len(model.calls) == 3
    assert story.check(repository, head).conclusion == "success"


async def test_what_low_effort_does_not_read_asks_for_a_person(story: Story, model: ScriptedModel) -> None:
    files = {f"shop/part_{number}.py": FILLER * 8 for number in range(3)}
    repository, _, pull, head = await _open(story, "low", files)
    assert len(model.calls) == 1
    assert "too large for the model's budget of this review" in (story.check(repository, head).summary or "")
    assert story.gates(pull) == ["human_review"]


async def test_deep_effort_on_request_takes_the_strong_model_and_says_what_it_costs(tmp_path: Path) -> None:
    fast, strong = ScriptedModel(FixedPrice(Decimal(1), Decimal(5)), name="fast"), ScriptedModel(name="strong")
    models = Models.pair(strong.language_model, fast.language_model)
    find_division(strong)
    strong.when("(conventions of the repository)", {"rules": []})
    async with open_story(create_database("sqlite", tmp_path), tmp_path, models=models) as story:
        repository, alice, pull, head = await _open(story, files={"billing/pay.py": PAY})
        assert story.check(repository, head).conclusion == "success"
        assert (len(fast.calls), len(strong.calls)) == (2, 0)
        assert "Read with effort" not in (story.check(repository, head).summary or "")

        story.clock.move(seconds=1)
        await story.after(alice.comment(pull, "/forge review Deep"))
        [answer] = story.answers(pull)
        assert "from scratch" in answer.body
        assert "Effort `deep`: `strong` reads it. The last review here took " in answer.body
        assert " USD with `fast`; this one takes 2.00 USD at most (`budgets.phase.review`)" in answer.body
        assert (len(fast.calls), len(strong.calls)) == (2, 3)
        asked = [each.calls[0].instructions for each in (fast, strong)]
        assert ["This review is deep" in each for each in asked] == [False, True]  # elsewhere an info is not said
        check = story.check(repository, head)
        assert check.conclusion == "failure"
        assert "Read with effort deep." in (check.summary or "")
        assert "| model | `strong`" in (check.summary or "")
        assert len(story.comments(pull)) == 1

        await alice.push(repository, "feature", {"billing/more.py": FILLER})  # the next review is as configured
        await story.settle()
        assert (len(fast.calls), len(strong.calls)) == (3, 3)  # which conventions are rules is known


async def test_deep_effort_reads_documents(story: Story, model: ScriptedModel) -> None:
    document = "# Rates\n\nSee [the list](https://rates.example).\n"
    _, alice, pull, _ = await _open(story, files={"docs/rates.md": document})
    assert model.calls == []
    story.clock.move(seconds=1)
    await story.after(alice.comment(pull, "/forge review deep"))
    assert "See [the list]" in model.calls[0].content
    story.pass_over(pull)


async def test_deep_effort_without_a_strong_model_takes_the_fast_one_and_says_so(tmp_path: Path) -> None:
    fast = ScriptedModel(name="fast")
    models = Models.pair(fast.language_model, fast.language_model)
    broken = Models({**models.names, ModelTier.strong: "anthropic:none"}, environment={}, _known=models._known)  # pyrefly: ignore[protected-access]
    async with open_story(create_database("sqlite", tmp_path), tmp_path, models=broken) as story:
        repository, _, _, head = await _open(story, "deep")
        assert fast.calls
        told = (story.check(repository, head).summary or "").replace("\\", "")
        assert "ANTHROPIC_API_KEY is not set" in told
        assert "So fast was asked." in told


@pytest.mark.parametrize("written", ["review deeper", "review deep full", "review full low"])
async def test_an_effort_that_does_not_exist_is_explained(written: str, story: Story, model: ScriptedModel) -> None:
    _, alice, pull, _ = await _open(story)
    asked = len(model.calls)
    story.clock.move(seconds=1)
    await story.after(alice.comment(pull, f"/forge {written}"))
    assert "/forge review [full or EFFORT]" in story.answers(pull)[0].body
    assert len(model.calls) == asked


async def test_an_effort_that_does_not_exist_is_a_mistake_of_the_configuration(
    story: Story, model: ScriptedModel
) -> None:
    repository, _, _, head = await _open(story, "deeper")
    told = (story.check(repository, head).summary or "").replace("\\", "")
    assert "review.effort" in told
    assert "deeper" in told
