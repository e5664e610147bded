"""People are asked, answer, and the run goes on; nobody's silence and no mistake ever does."""

import asyncio
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest
from pydantic import JsonValue

from agents.llm.models import Models
from agents.llm.scripted import ScriptedModel
from domain.money import FixedPrice
from simulator.state import CheckRun, IssueComment, PullRequest, Repository
from tests.databases import create_database
from tests.stories.driver import Story, open_story
from tests.stories.gate_scenes import open_scene
from tests.world.gates import open_protected
from tests.world.issues import SHOP as ISSUE_SHOP
from tests.world.model_findings import FILLER, PAY, SHOP, find_division

UNSAFE = "import subprocess\n\n\ndef run(command: str) -> None:\n    subprocess.call(command, shell=True)\n"


def gate(story: Story, repository: Repository, sha: str, name: str) -> CheckRun:
    """The newest check of a gate on a head."""
    return max(story.github.check_runs(repository, sha, f"Forge / gate: {name}"), key=lambda check: check.id)


def find_comment(story: Story, pull: PullRequest, words: str) -> IssueComment:
    """The one comment of Forge below the pull request that holds these words."""
    [found] = [each for each in (*story.answers(pull), *story.questions(pull)) if words in each.body]
    return found


async def test_protected_path_waits_for_a_maintainer(story: Story) -> None:
    repository, _, carol, pull, head = await open_protected(story)
    check = gate(story, repository, head, "protected_paths")
    assert (check.status, check.conclusion) == ("completed", "action_required")
    assert [action["label"] for action in check.actions] == ["Approve", "Reject", "View"]
    assert story.check(repository, head).conclusion == "action_required"
    assert ".github/workflows/ci.yml" in find_comment(story, pull, "Forge asks").body
    [run] = await story.runs()
    assert (run.state, run.reason) == ("waiting", "gate")

    story.clock.move(seconds=5)
    await carol.comment(pull, "/forge approve with: tell operations first")
    await story.settle()
    assert "Your words are kept with the decision." in find_comment(story, pull, "Approved by carol").body
    assert gate(story, repository, head, "protected_paths").conclusion == "success"
    review = story.check(repository, head)
    assert review.conclusion == "success"
    assert "tell operations first" in (review.summary or "")
    [run] = await story.runs()
    assert run.state == "completed"


def build_priced_model(usd: int) -> ScriptedModel:
    """A model whose tokens cost so much, in USD per million."""
    return ScriptedModel(FixedPrice(Decimal(usd), Decimal(usd)))


async def test_a_budget_pauses_and_another_slice_lets_it_go_on(tmp_path: Path) -> None:
    dear = build_priced_model(50)
    find_division(dear)
    async with open_story(
        create_database("sqlite", tmp_path), tmp_path, models=Models.only(dear.language_model)
    ) as story:
        repository, alice = story.repository({**SHOP, ".github/forge.yml": "review: {model: always}\n"})
        files = {"billing/pay.py": PAY, **{f"billing/more_{n}.py": FILLER * 8 for n in range(8)}}
        head = await alice.push(repository, "feature", files, base="main")
        pull = await alice.open_pull_request(repository, "feature")
        await story.settle()
        asked = find_comment(story, pull, "Forge asks: cost_overrun")
        assert "could pass four fifths of the budget" in asked.body
        before = len(dear.calls)
        assert before > 0
        assert story.check(repository, head).conclusion == "action_required"
        assert "cost_overrun" in (story.check(repository, head).title or "")

        story.clock.move(seconds=5)
        await alice.comment(pull, "/forge continue 50usd")
        await story.settle()
        assert "may use 50.00 USD more" in find_comment(story, pull, "Approved by alice").body
        assert len(dear.calls) > before
        assert len({call.content for call in dear.calls}) == len(dear.calls)  # nothing was asked and paid for twice
        assert story.check(repository, head).conclusion == "failure"
        assert len(story.comments(pull)) == 1


async def wait_until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not holds():  # noqa: ASYNC110  # it is a process of its own
            await asyncio.sleep(0.05)


@pytest.mark.parametrize(
    ("said", "shown"), [("approve", "Approved by carol; goes on"), ("reject no", "Rejected by carol; ends")]
)
async def test_the_check_says_at_once_what_was_decided_while_another_run_has_the_only_place(
    tmp_path: Path, model: ScriptedModel, said: str, shown: str
) -> None:
    url, is_shown = create_database("sqlite", tmp_path), asyncio.Event()

    async def plan(_content: str) -> dict[str, JsonValue]:
        await is_shown.wait()
        return {"plan": None, "questions": ["Which?"]}

    async with open_story(url, tmp_path, models=Models.only(model.language_model), concurrent_runs=1) as story:
        scene = await open_scene(story, configuration="review: {model: never}\n", there=ISSUE_SHOP)
        model.when("whole cart", plan)
        issue = await scene.alice.open_issue(scene.repository, "Discounts", "On the whole cart.")
        await scene.alice.comment(issue, "/forge plan")
        await wait_until(lambda: bool(model.calls))
        assert scene.conclusion == "action_required"
        story.clock.move(seconds=2)  # GitHub cuts the moment of writing to the second
        await scene.carol.comment(scene.pull, f"/forge {said}")
        await wait_until(lambda: story.check(scene.repository, scene.head).title == shown)
        is_shown.set()
        await story.settle()
        assert scene.conclusion == ("success" if said == "approve" else "failure")
        story.pass_over(scene.pull)
        story.pass_over(issue)
