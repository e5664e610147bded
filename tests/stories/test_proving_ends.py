"""What becomes of a change under proof when something comes in between: nothing stays open, nothing waits for ever."""

import asyncio

from agents.llm.scripted import ScriptedModel
from simulator.faults import Dropped, Moment, RequestInfo
from simulator.state import CheckRun, PullRequest, Repository
from tests.stories.driver import Story
from tests.world.automation import jump_ahead
from tests.world.issues import DIFF, DONE, SHOP, TASK, TEST, IssueScene, get_pull_request, open_issue, patches, plan
from tests.world.verification import ACTIONS, ASKS, MEND, WRONG, get_outcome, propose_diffs

SLOW = {**SHOP, "tests/test_slow.py": "import time\n\n\ndef test_slow():\n    time.sleep(30)\n"}


def checks(read: Story, repository: Repository, sha: str) -> list[CheckRun]:
    return read.github.check_runs(repository, sha, "Forge / test")


async def under_test(read: Story) -> tuple[Repository, PullRequest]:
    """A pull request whose tests take long, and are running."""
    repository, alice = read.repository(SLOW)
    await alice.push(repository, "work", {"pyproject.toml": SHOP["pyproject.toml"] + "# all tests\n"}, base="main")
    pull = await alice.open_pull_request(repository, "work", "main")
    await read.settle()
    await alice.comment(pull, "/forge test")
    while True:
        if any(check.title == "Running the tests" for check in checks(read, repository, pull.head_sha)):
            return repository, pull
        await asyncio.sleep(0.05)


async def test_a_push_ends_the_tests_of_the_head_before(read: Story) -> None:
    repository, pull = await under_test(read)
    [before] = checks(read, repository, pull.head_sha)
    await read.github.user("alice").push(repository, "work", {"README.md": "# A shop\n"})
    await read.settle()
    assert (before.status, before.conclusion) == ("completed", "cancelled")
    read.answers(pull)
    read.comments(pull)


async def test_a_closed_pull_request_is_tested_no_more(read: Story) -> None:
    repository, pull = await under_test(read)
    [check] = checks(read, repository, pull.head_sha)
    await read.github.user("alice").close(pull)
    await read.settle()
    assert (check.status, check.conclusion) == ("completed", "cancelled")
    read.answers(pull)
    read.comments(pull)


async def test_a_paused_repository_is_not_tested(read: Story) -> None:
    repository, alice = read.repository(SHOP)
    carol = read.github.user("carol")
    read.github.grant(repository, carol, "admin")
    await alice.push(repository, "work", {"README.md": "# A shop\n"}, base="main")
    pull = await alice.open_pull_request(repository, "work", "main")
    await read.settle()
    await carol.comment(pull, "/forge pause")
    await read.settle()
    await alice.comment(pull, "/forge test")
    await read.settle()
    assert checks(read, repository, pull.head_sha) == []
    assert "paused" in read.answers(pull)[-1].body
    read.comments(pull)


async def test_a_workflow_that_never_ends_is_not_waited_for(read: Story, model: ScriptedModel) -> None:
    """Whatever else happens on the pull request meanwhile."""
    asked, pull = await propose_diffs(read, model, DIFF, **ACTIONS)
    await asked.alice.comment(pull, "/forge dismiss F-AAAAAA nonsense")
    await read.settle()
    read.github.run_workflow(asked.repository, pull.head_sha, "CI", {"test": (None, "")})
    for _ in range(13):
        await jump_ahead(read, minutes=30)
    assert await get_outcome(read) == ("completed", "untested")
    [check] = checks(read, asked.repository, pull.head_sha)
    assert "did not end within six hours" in (check.summary or "")
    assert "Forge could not test it" in asked.status
    read.answers(pull)


async def test_taken_up_again_it_looks_again(read: Story, model: ScriptedModel) -> None:
    asked, pull = await propose_diffs(read, model, DIFF, **ACTIONS)
    await asked.comment(asked.alice, "/forge cancel")
    [check] = checks(read, asked.repository, pull.head_sha)
    assert (check.status, check.conclusion) == ("completed", "cancelled")
    await asked.comment(asked.alice, "/forge resume")
    await jump_ahead(read, minutes=11)
    assert await get_outcome(read) == ("completed", "untested")


async def test_merged_while_it_was_proved(read: Story, model: ScriptedModel) -> None:
    """Merging closes the issue; the run finds out why, and does not call itself stopped."""
    asked, pull = await propose_diffs(read, model, DIFF, **ASKS)
    read.questions(pull)
    await asked.alice.mark_ready(pull)
    await read.settle()
    await asked.alice.merge(pull)
    await read.settle()
    assert f"**#{pull.number} was merged**" in asked.status
    assert await get_outcome(read) == ("completed", "proposed")
    read.questions(pull)
    read.answers(pull)


async def test_a_review_that_was_stopped_is_no_question(read: Story, model: ScriptedModel) -> None:
    asked, pull = await propose_diffs(read, model, DIFF, **ASKS)
    await asked.alice.comment(pull, "/forge cancel")
    await read.settle()
    assert f"the review of #{pull.number} ended without a verdict" in asked.status
    read.answers(pull)
    read.questions(pull)
    assert read.gate_outcomes(pull)


async def test_the_phase_that_failed_was_the_review(read: Story, model: ScriptedModel) -> None:
    """Then the same pull request goes on, and no second one is opened."""
    model.when(MEND, {"summary": "It is right as it is.", "is_done": True})
    asked, pull = await propose_diffs(read, model, WRONG)
    await asked.comment(asked.alice, "/forge reject help_needed Leave it")
    await asked.comment(asked.alice, "/forge retry")
    assert read.gates(asked.issue) == ["help_needed"]
    assert get_pull_request(asked) is pull
    read.comments(pull)


async def test_only_the_head_that_was_proved_becomes_ready(read: Story, model: ScriptedModel) -> None:
    """Somebody pushes at the last moment."""
    asked: IssueScene = await open_issue(read)
    model.when("Discounts", plan())
    model.when(TASK, patches(DIFF, TEST), DONE)
    moved: list[str] = []

    async def push_then(request: RequestInfo, moment: Moment) -> None:
        """While it is made ready, which has to be said again."""
        if request.path == "/graphql" and moment == "before" and not moved:
            [pull] = asked.repository.pulls()
            moved.append(await asked.alice.push(asked.repository, pull.head_ref, {"README.md": "# Mine\n"}))
            raise Dropped

    read.github.on_write(push_then)
    await asked.comment(asked.alice, "/forge run")
    pull = get_pull_request(asked)
    assert moved
    assert pull.draft
    assert "- Tests:" not in str(pull.body), "what was proved is not what is there"
    assert await get_outcome(read) == ("completed", "branch_moved")
    read.comments(pull)
