"""A workflow of the repository's own ends: who knows the head is told of it, once for each delivery."""

import pytest
from sqlalchemy import text

from agents.llm.scripted import ScriptedModel
from memory.deliveries import deliveries
from simulator.state import Repository
from tests.stories.driver import Story
from tests.world.issues import DIFF
from tests.world.verification import ASKS, propose_diffs


async def _outcomes(told: Story, repository: Repository, sha: str, conclusion: str) -> list[tuple[str, str, str]]:
    """What became of all that GitHub says about a workflow on a head."""
    before = len(told.github.deliveries)
    told.github.run_workflow(repository, sha, "CI", {"test": (conclusion, "")})
    await told.settle()
    found: list[tuple[str, str, str]] = []
    for sent in told.github.deliveries[before:]:
        row = await deliveries.find(told.forge.services.database, sent.guid)
        assert row is not None
        if row.outcome == "accepted":
            found.append((row.event, row.action, row.reason))
    return found


@pytest.mark.parametrize("told", ["sqlite"], indirect=True)
@pytest.mark.parametrize("conclusion", ["success", "failure"])
async def test_the_ends_of_workflows_are_taken_up(told: Story, conclusion: str) -> None:
    repository, alice = told.repository({"app.py": "x = 1\n"})
    head = await alice.push(repository, "feature", {"app.py": "x = 2\n"}, base="main")
    pull = await alice.open_pull_request(repository, "feature")
    await told.settle()
    told.comments(pull)
    ends = [("check_suite", "completed"), ("workflow_run", "completed")]
    ours = await _outcomes(told, repository, head, conclusion)
    assert ours == [(*end, "told of pull request 1") for end in ends]
    elsewhere = await _outcomes(told, repository, repository.git.branch("main") or "", conclusion)
    assert elsewhere == [(*end, "no run knows this head") for end in ends]
    assert len(await told.runs()) == 1


@pytest.mark.parametrize("read", ["sqlite"], indirect=True)
async def test_the_run_that_proposed_the_head_looks_anew(read: Story, model: ScriptedModel) -> None:
    """It waits for a person meanwhile, and goes on waiting."""
    asked, pull = await propose_diffs(read, model, DIFF, **ASKS)
    read.questions(pull)
    run = next(each for each in await read.runs() if each.trigger == "issue")
    read.github.run_workflow(asked.repository, pull.head_sha, "CI", {"test": ("success", "")})
    await read.settle()
    ends = [sent.guid for sent in read.github.deliveries if sent.event in {"check_suite", "workflow_run"}][-2:]
    async with read.forge.services.database.transaction() as session:
        query = text("SELECT workflow_uuid FROM workflow_status WHERE workflow_uuid LIKE :of_run")
        looked = set(await session.scalars(query, {"of_run": f"{run.id}/%"}))
    assert looked.issuperset(f"{run.id}/{guid}" for guid in ends)
    assert [each.state for each in await read.runs() if each.trigger == "issue"] == [run.state]
