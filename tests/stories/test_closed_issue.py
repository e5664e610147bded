"""An issue is closed: what runs on it ends, whoever closed it, and nothing else does."""

import httpx2
import pytest

from domain.commands import Repeat
from domain.runs.run import ReasonCode, RepositoryRef, RunState, Trigger
from memory.runs import runs
from memory.runs.runs import Candidate
from simulator.state import Installation, Issue, Repository
from tests.stories.driver import Story


def _installation(story: Story, repository: Repository) -> Installation:
    found = story.github.world.installation_of(repository)
    assert found is not None
    return found


async def _under_way(story: Story, repository: Repository, issue: Issue) -> str:
    """A run on an issue that waits for somebody; its id."""
    owner, _, name = repository.full_name.partition("/")
    where = RepositoryRef(installation_id=_installation(story, repository).id, id=repository.id, owner=owner, name=name)
    main = repository.git.branch("main") or ""
    wanted = Candidate(
        admitted_by=f"story#{issue.number}",
        repository=where,
        number=issue.number,
        head_sha=main,
        base_sha=main,
        trigger=Trigger.pull_request,
        repeat=Repeat.never,
    )
    database, now = story.forge.services.database, story.clock.now()
    run = (await runs.admit(database, wanted, await runs.get_fence(database, repository.id, issue.number), now)).run
    assert run is not None
    for state, reason in ((RunState.running, ReasonCode.none), (RunState.waiting, ReasonCode.gate)):
        assert await runs.move(database, run.id, state, now, reason)
    return run.id


async def _states(story: Story) -> dict[str, tuple[str, str]]:
    await story.settle()
    return {run.id: (run.state, run.reason) for run in await story.runs()}


async def _close_as_app(story: Story, issue: Issue) -> None:
    headers = {"Authorization": f"token {story.github.token(_installation(story, issue.repository))}"}
    async with httpx2.AsyncClient(base_url=story.github.api_url, headers=headers) as github:
        path = f"/repos/{issue.repository.full_name}/issues/{issue.number}"
        assert (await github.patch(path, json={"state": "closed"})).status_code == 200


@pytest.mark.parametrize("story", ["sqlite"], indirect=True)
@pytest.mark.parametrize("by_app", [False, True])
async def test_only_what_runs_on_it_ends(story: Story, by_app: bool) -> None:
    repository, alice = story.repository({"app.py": "x = 1\n"})
    issue, other = await alice.open_issue(repository, "Slow"), await alice.open_issue(repository, "Ugly")
    ended, goes_on = [await _under_way(story, repository, each) for each in (issue, other)]
    await alice.edit(issue, title="Very slow")
    assert await _states(story) == dict.fromkeys((ended, goes_on), ("waiting", "gate"))
    await (_close_as_app(story, issue) if by_app else alice.close(issue))
    assert await _states(story) == {ended: ("cancelled", "closed"), goes_on: ("waiting", "gate")}
