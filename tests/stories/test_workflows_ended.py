"""A workflow of the repository's own ends: who knows the head is told of it, once for each delivery."""

import pytest
from inline_snapshot import snapshot
from sqlalchemy import text

from agents.llm.scripted import ScriptedModel
from memory.deliveries import deliveries
from simulator.state import Repository
from tests.stories.driver import Story
from tests.world.cart import DIFF
from tests.world.replies import first_lines
from tests.world.verification import ASKS, propose_diffs


async def _outcomes(story: Story, repository: Repository, sha: str, conclusion: str) -> list[tuple[str, str, str]]:
    """What became of all that GitHub says about a workflow on a head."""
    before = len(story.github.deliveries)
    story.github.run_workflow(repository, sha, "CI", {"test": (conclusion, "")})
    await story.settle()
    found: list[tuple[str, str, str]] = []
    for sent in story.github.deliveries[before:]:
        row = await deliveries.find(story.forge.services.database, sent.guid)
        assert row is not None
        if row.outcome == "accepted":
            found.append((row.event, row.action, row.reason))
    return found


@pytest.mark.parametrize("story", ["sqlite"], indirect=True)
@pytest.mark.parametrize("conclusion", ["success", "failure"])
async def test_the_ends_of_workflows_are_taken_up(story: Story, conclusion: str) -> None:
    repository, alice = story.repository({"app.py": "x = 1\n"})
    pull, head = await story.propose(repository, alice, {"app.py": "x = 2\n"})
    assert first_lines(story.comments(pull)) == snapshot([])
    ends = [("check_suite", "completed"), ("workflow_run", "completed")]
    ours = await _outcomes(story, repository, head, conclusion)
    assert ours == [(*end, "told of pull request 1") for end in ends]
    elsewhere = await _outcomes(story, repository, repository.git.branch("main") or "", conclusion)
    assert elsewhere == [(*end, "no run knows this head") for end in ends]
    assert len(await story.runs()) == 1


@pytest.mark.parametrize("story", ["sqlite"], indirect=True)
async def test_the_run_that_proposed_the_head_looks_anew(story: Story, model: ScriptedModel) -> None:
    """It waits for a person meanwhile, and goes on waiting."""
    asked, pull = await propose_diffs(story, model, DIFF, **ASKS)
    assert first_lines(story.questions(pull)) == snapshot(["**Forge asks: design** · G-ID · head `SHA`"])
    run = next(each for each in await story.runs() if each.trigger == "issue")
    story.github.run_workflow(asked.repository, pull.head_sha, "CI", {"test": ("success", "")})
    await story.settle()
    ends = [sent.guid for sent in story.github.deliveries if sent.event in {"check_suite", "workflow_run"}][-2:]
    async with story.forge.services.database.transaction() as session:
        query = text("SELECT workflow_uuid FROM workflow_status WHERE workflow_uuid LIKE :of_run")
        looked = set(await session.scalars(query, {"of_run": f"{run.id}/%"}))
    assert looked.issuperset(f"{run.id}/{guid}" for guid in ends)
    assert [each.state for each in await story.runs() if each.trigger == "issue"] == [run.state]
